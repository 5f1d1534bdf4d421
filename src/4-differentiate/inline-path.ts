import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { invariant } from '../../runtime/errors/invariant.ts';
import { whileOp } from '../../runtime/program/control-ops.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { KeptAt, TakenPath } from '../../runtime/program/taken-path.ts';

/** The ops of one path through a program. */
export interface InlinedPath {
  readonly program: Program;
  /** The value of the straight program that each value of the surrounding program is; a tape is none. */
  readonly valueOf: ReadonlyMap<ValueId, ValueId>;
  /** Where a run has kept each value of the straight program. */
  readonly keptAt: readonly (readonly KeptAt[])[];
}

/**
 * In: a traced program and its plan, and the path that a run has taken. Out: the ops of this path as one straight
 * program, in the order in which eager execution has performed them. A branch or loop that is not on the path, because
 * no gradient flows through it, stays as it is. What a region returns is the tensor itself, under whichever name.
 */
export function inlinePath(
  traced: Program,
  planned: PlannedSubgraph,
  path: TakenPath,
): InlinedPath {
  const values: TensorMeta[] = [];
  const ops: ProgramOp[] = [];
  const keptAt: KeptAt[][] = [];
  const define = (meta: TensorMeta): ValueId => {
    keptAt.push([]);
    return (values.push(meta) - 1) as ValueId;
  };
  /** Appends the ops of one frame; returns the value that each of its own is. */
  const append = (
    program: Program,
    plan: PlannedSubgraph,
    taken: TakenPath,
    frame: number,
    operands: readonly ValueId[],
  ): ReadonlyMap<ValueId, ValueId> => {
    const known = new Map<ValueId, ValueId>();
    const found = (id: ValueId): ValueId => {
      const value = known.get(id);
      invariant(value !== undefined, 'only a backward reads a tape');
      return value;
    };
    program.inputs.forEach((id, i) => {
      known.set(id, operands[i]!);
    });
    for (const op of program.ops) {
      const tape = op.outputs.at(-1);
      const inputs = op.inputs.map(found);
      const runs = taken.find((each) => each.tape === tape)?.runs;
      if (!runs || !op.regions) {
        for (const id of op.outputs) known.set(id, define(program.values[id]!));
        const outputs = op.outputs.map(found);
        const before = op.before === undefined ? {} : { before: found(op.before) };
        ops.push({ ...op, inputs, outputs, ...before });
        continue;
      }
      const { regions } = plan.forward.steps.find((step) => step.op.outputs.at(-1) === tape)!;
      const results = op.outputs.slice(0, -1);
      const carries = op.op === whileOp;
      let state = carries ? inputs.slice(0, results.length) : [];
      const captured = inputs.slice(carries ? results.length : 1);
      for (const { region, frame, inside } of runs) {
        const { program: body } = op.regions[region]!;
        const own = append(body, regions![region]!, inside, frame, [...state, ...captured]);
        state = body.outputs.map((id) => own.get(id)!);
      }
      results.forEach((id, i) => {
        known.set(id, state[i]!);
      });
    }
    for (const id of plan.backward?.saved.withData ?? []) {
      const value = known.get(id);
      if (value !== undefined) keptAt[value]!.push({ frame, id });
    }
    return known;
  };
  const inputs = traced.inputs.map((id) => define(traced.values[id]!));
  const valueOf = append(traced, planned, path, 0, inputs);
  const outputs = traced.outputs.map((id) => valueOf.get(id)!);
  return { program: { values, inputs, ops, outputs }, valueOf, keptAt };
}
