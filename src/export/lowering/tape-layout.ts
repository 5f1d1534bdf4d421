import { condOp, whileOp } from '../../../runtime/program/control-ops.ts';
import { unfusedOps } from '../../../runtime/program/fused/unfused.ts';
import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import type { BackwardPart } from '../../../runtime/program/plan.ts';
import type { Program, ProgramOp, Region, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';

/**
 * The layout of the values that a branch or loop saves for its backward: for the branch that runs, or for each
 * iteration.
 */
export interface TapeLayout {
  readonly op: ProgramOp;
  /**
   * The index of the operand that is the regions' first input: 1 for a branch, whose first operand is the
   * condition.
   */
  readonly first: number;
  /** Both branches, or the body; null if no gradient flows through it. */
  readonly regions: readonly (SavedLayout | null)[];
  /** Indices of the operands that backward reads directly rather than from the tape. */
  readonly operands: ReadonlySet<number>;
}

/** The layout of the values that one run of a region saves. */
export interface SavedLayout {
  readonly program: Program;
  readonly part: BackwardPart;
  /** Values that are stored. */
  readonly values: readonly ValueId[];
  /** Tapes of inner branches and loops, which are stored as well. */
  readonly tapes: ReadonlyMap<ValueId, TapeLayout>;
  /** Inputs that backward reads directly. */
  readonly shared: readonly ValueId[];
  /** Views of these, which backward recomputes. */
  readonly views: readonly ProgramOp[];
}

/**
 * Returns the layout of the tape of a `cond` or `while`. `isWritten`: whether the op writes the memory of an operand.
 */
export function tapeLayout(
  op: ProgramOp,
  backwardParts: ReadonlyMap<Region, BackwardPart>,
  isWritten: (operand: number) => boolean,
): TapeLayout {
  const isLoop = op.op === whileOp;
  const regions = isLoop ? op.regions!.slice(1) : op.regions!;
  // A loop-carried value differs in each iteration.
  const carried = isLoop ? regions[0]!.program.outputs.length : 0;
  const first = isLoop ? 0 : 1;
  const layouts = regions.map((region) => {
    const part = backwardParts.get(region);
    const written = region.program.inputs.filter((_, i) => isWritten(first + i));
    return part ? savedLayout(region.program, part, carried, written, backwardParts) : null;
  });
  const operands = layouts.flatMap((layout) =>
    layout ? layout.shared.map((id) => first + layout.program.inputs.indexOf(id)) : [],
  );
  return { op, first, regions: layouts, operands: new Set(operands) };
}

function savedLayout(
  program: Program,
  part: BackwardPart,
  carried: number,
  written: readonly ValueId[],
  backwardParts: ReadonlyMap<Region, BackwardPart>,
): SavedLayout {
  const read = new Set(part.saved.withData);
  const tapes = new Map<ValueId, TapeLayout>();
  const groups = new ValueGroups(unfusedOps(program.ops), 'memory');
  // Inputs that the op writes may be views of one memory.
  const writtenGroups = new Set(written.map((id) => groups.of(id)));
  const memoryOf = (id: ValueId) => {
    const group = groups.of(id);
    return writtenGroups.has(group) ? written[0]! : group;
  };
  for (const op of program.ops) {
    const tape = op.outputs.at(-1)!;
    if ((op.op !== condOp && op.op !== whileOp) || !read.delete(tape)) continue;
    const targets = new Set(writtenOperands(op).map((operand) => memoryOf(op.inputs[operand]!)));
    const isWritten = (operand: number) => targets.has(memoryOf(op.inputs[operand]!));
    const layout = tapeLayout(op, backwardParts, isWritten);
    tapes.set(tape, layout);
    for (const operand of layout.operands) read.add(op.inputs[operand]!);
  }
  // Backward reads the state of written memory after the write, so it is stored.
  const constant = program.inputs.slice(carried).filter((id) => !written.includes(id));
  const views: ProgramOp[] = [];
  for (const view of viewsOf(program, constant).toReversed()) {
    if (!read.delete(view.outputs[0]!)) continue;
    views.unshift(view);
    read.add(view.inputs[0]!);
  }
  const isConstant = new Set(constant);
  const ids = [...read];
  return {
    program,
    part,
    values: ids.filter((id) => !isConstant.has(id)),
    tapes,
    shared: ids.filter((id) => isConstant.has(id)),
    views,
  };
}

/** Returns the ops of a program that compute views of these values, including views of views. */
function viewsOf(program: Program, of: Iterable<ValueId>): ProgramOp[] {
  const seen = new Set(of);
  return unfusedOps(program.ops).filter(({ op, inputs, outputs }) => {
    if (op.kernel.kind !== 'view' || !seen.has(inputs[0]!)) return false;
    for (const id of outputs) seen.add(id);
    return true;
  });
}
