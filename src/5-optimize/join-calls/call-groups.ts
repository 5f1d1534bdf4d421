import { callOp } from '../../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { dtypes } from '../../../runtime/spec/dtype.ts';
import { siteOf } from '../../regions/append-call.ts';

/** Numbers of the ops that become one, in their order. */
export type CallGroup = readonly number[];

interface OpenGroup {
  readonly members: number[];
  /** Values that the members take and make. */
  readonly taken: Set<ValueId>;
  readonly made: Set<ValueId>;
  readonly recordsGrad: boolean;
}

/**
 * Calls that can be made one after the other, at the place of the last: each continues with what an earlier one
 * has made, or reads the same value of an open shape. No op between them reads what they make, writes to
 * anything, or contributes a gradient to what they contribute one to: parts of a gradient are summed in the order of
 * their ops, last first, and stay in it. `asked`: values whose complete gradient may be requested; inside of one
 * op it could not be told from its parts.
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

/** Calls whose record for backward is read by one op, in the same program, or by none. */
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
