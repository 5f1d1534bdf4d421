import { callOp } from '../../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { dtypes } from '../../../runtime/spec/dtype.ts';
import { siteOf } from '../../regions/append-call.ts';

/** Indices of the ops to merge, in order. */
export type CallGroup = readonly number[];

interface OpenGroup {
  readonly members: number[];
  /** Values that the members read and compute. */
  readonly taken: Set<ValueId>;
  readonly made: Set<ValueId>;
  readonly recordsGrad: boolean;
}

/**
 * Finds calls that can be made one after another at the position of the last: each continues with a result of an
 * earlier one, or reads the same value with unbacked sizes. No op between them reads their results, writes anything, or
 * contributes a gradient to a value that they also contribute to: contributions must keep being summed in op order,
 * last first. `asked`: values whose complete gradient may be requested; one op couldn't separate it from its terms.
 */
export function callGroups(
  { values, ops, outputs }: Program,
  asked: ReadonlySet<ValueId>,
): readonly CallGroup[] {
  const floating = (id: ValueId) => dtypes[values[id]!.dtype].floating;
  const isSum = (group: OpenGroup, op: ProgramOp, id: ValueId) =>
    group.recordsGrad && op.recordsGrad && group.taken.has(id) && floating(id);
  const joinable = joinableCalls(ops, outputs);
  const closed: OpenGroup[] = [];
  let open: OpenGroup[] = [];
  ops.forEach((op, index) => {
    if (writtenOperands(op).length > 0) {
      closed.push(...open);
      open = [];
      return;
    }
    const isMember = joinable.has(index);
    const joined: OpenGroup[] = [];
    open = open.filter((group) => {
      const read = op.inputs.filter((id) => group.made.has(id));
      const reads = read.length > 0;
      const isAsked = op.recordsGrad && read.some((id) => asked.has(id) && floating(id));
      const shares = op.inputs.some((id, i) => isOpen(op, i) && group.taken.has(id));
      const isAlike = isMember && !isAsked && group.recordsGrad === op.recordsGrad;
      if (isAlike && (reads || shares)) {
        joined.push(group);
        return false;
      }
      const stays = !reads && !op.inputs.some((id) => isSum(group, op, id));
      if (!stays) closed.push(group);
      return stays;
    });
    if (!isMember) return;
    open.push({
      members: [...joined.flatMap(({ members }) => members), index].sort((a, b) => a - b),
      taken: new Set([...joined.flatMap(({ taken }) => [...taken]), ...op.inputs]),
      made: new Set([...joined.flatMap(({ made }) => [...made]), ...op.outputs]),
      recordsGrad: op.recordsGrad,
    });
  });
  return [...closed, ...open].map(({ members }) => members).filter(({ length }) => length > 1);
}

function isOpen({ call }: ProgramOp, operand: number): boolean {
  const form = call?.forms[operand];
  return form === 'dynamic' || form === 'list';
}

/** Returns the calls whose tape is read by one op in the same program, or by none. */
function joinableCalls(
  ops: readonly ProgramOp[],
  outputs: readonly ValueId[],
): ReadonlySet<number> {
  const readers = new Map<ValueId, ProgramOp[]>();
  for (const op of ops) {
    for (const id of op.inputs) readers.set(id, [...(readers.get(id) ?? []), op]);
  }
  return new Set(
    ops.flatMap((op, index) => {
      if (op.op !== callOp || !siteOf(op.call!) || op.call!.list) return [];
      const tape = op.outputs.at(-1)!;
      const backwardOps = readers.get(tape) ?? [];
      const isPlain = backwardOps.every((each) => each.op.name === 'callBackward');
      return isPlain && backwardOps.length < 2 && !outputs.includes(tape) ? [index] : [];
    }),
  );
}
