import { operandUse } from '../../runtime/device/kernel-op.ts';
import { whileOp } from '../../runtime/program/control-ops.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { writtenOperands } from '../../runtime/program/writes.ts';
import { readOutside } from '../regions/append-control.ts';
import type { TraceResult } from '../traces/trace-result.ts';

/** Indices of the inputs whose data gradients read. */
export interface ReadByGradients {
  /** Saved for backward, also by branches and loops. */
  readonly saved: readonly number[];
  /** Read after a write, possibly by a backward inside the program, whose ops look like any others. */
  readonly afterWrites: readonly number[];
}

/** Whether a gradient may read data: of the program's results after a run, or in a backward inside the program. */
export function mayReadByGradients({ differentiable, program }: TraceResult): boolean {
  return differentiable.includes(true) || differentiates(program);
}

function differentiates({ ops }: Program): boolean {
  return ops.some(({ backward, regions = [] }) => {
    return backward || regions.some(({ program }) => differentiates(program));
  });
}

export function readByGradients(
  { inputs, ops }: Program,
  { backward }: PlannedSubgraph,
): ReadByGradients {
  const afterWrites = new Set<ValueId>();
  const saved = new Set<ValueId>();
  let written = false;
  /** `roots`: the inputs that each value is or views, on one path or another. */
  const collect = (each: readonly ProgramOp[], roots: Map<ValueId, Roots>): void => {
    for (const op of each) {
      const operands = op.inputs.map((id) => roots.get(id) ?? none);
      const targets = writtenOperands(op);
      if (op.op.kernel.kind === 'view') roots.set(op.outputs[0]!, operands[0]!);
      else if (written) {
        operands.forEach((read, i) => {
          if (!targets.includes(i) && operandUse(op.op, i) === 'data') add(afterWrites, read);
        });
      }
      for (const index of readByBackwardOf(op)) add(saved, operands[index] ?? none);
      // No backward in a loop reads what was saved in an earlier iteration: such loops are no programs.
      if (op.regions) throughRegions(op, operands, roots);
      written ||= targets.length > 0;
    }
  };
  /** A branch may return an outer tensor; a loop may carry one on, or return it after no iteration. */
  const throughRegions = (
    { op, regions = [], outputs: results }: ProgramOp,
    operands: Roots[],
    roots: Map<ValueId, Roots>,
  ): void => {
    const carries = op === whileOp;
    const returning = carries ? regions.slice(1) : regions;
    const found = results.map((_, i) => (carries ? new Set(operands[i]) : new Set<ValueId>()));
    for (let before = -1; before < sizeOf(found); ) {
      before = sizeOf(found);
      for (const region of regions) {
        const { program } = region;
        const first = operands.length - program.inputs.length;
        const inner = new Map(
          program.inputs.map((id, i) => {
            const carried = carries ? found[first + i] : undefined;
            return [id, [...(operands[first + i] ?? none), ...(carried ?? [])]] as const;
          }),
        );
        collect(program.ops, inner);
        if (!returning.includes(region)) continue;
        program.outputs.forEach((id, i) => {
          if (found[i]) add(found[i], inner.get(id) ?? none);
        });
      }
      if (!carries) break;
    }
    for (const [i, id] of results.entries()) roots.set(id, [...found[i]!]);
  };
  const roots = new Map<ValueId, Roots>(inputs.map((id) => [id, [id]]));
  collect(ops, roots);
  for (const id of backward?.saved.withData ?? []) add(saved, roots.get(id) ?? none);
  const among = (ids: ReadonlySet<ValueId>) => inputs.flatMap((id, i) => (ids.has(id) ? [i] : []));
  return { saved: among(saved), afterWrites: among(afterWrites) };
}

type Roots = readonly ValueId[];

const none: Roots = [];

function add(to: Set<ValueId>, ids: Iterable<ValueId>): void {
  for (const id of ids) to.add(id);
}

function sizeOf(sets: readonly ReadonlySet<ValueId>[]): number {
  return sets.reduce((sum, { size }) => sum + size, 0);
}

/** The indices of the operands of a branch or loop that its own backward reads. */
function readByBackwardOf({ inputs, regions = [] }: ProgramOp): readonly number[] {
  return regions.flatMap(({ joint, program }) => {
    const first = inputs.length - program.inputs.length;
    return joint ? [...readOutside(joint).operands].map((i) => first + i) : [];
  });
}
