import type { Program } from '../../runtime/program/program.ts';

/** Whether two programs run the same ops on the same values, in the same order. */
export function hasSameOps({ ops: before }: Program, { ops: after }: Program): boolean {
  if (before === after) return true;
  if (before.length !== after.length) return false;
  return before.every((op, i) => {
    const other = after[i]!;
    if (op === other) return true;
    return (
      op.op === other.op &&
      op.attrs === other.attrs &&
      op.regions === other.regions &&
      op.call === other.call &&
      op.before === other.before &&
      op.again === other.again &&
      isSame(op.inputs, other.inputs) &&
      isSame(op.outputs, other.outputs)
    );
  });
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a === b || (a.length === b.length && a.every((id, i) => id === b[i]));
}
