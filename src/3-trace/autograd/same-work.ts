import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { sameAttrs } from '../../../runtime/ops/core/prepared-call.ts';
import { isSymbolic } from '../../../runtime/ops/numbers/symbolic-number.ts';
import { aliasOp } from '../../../runtime/program/alias-op.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';

const none: ReadonlySet<string> = new Set();

/**
 * Whether two lists of ops compute the same from the same operands. The second list may read aliases of the first
 * list's operands, and may number its own values differently. Ops that can't be compared count as different.
 */
export function doSameWork(first: readonly ProgramOp[], second: readonly ProgramOp[]): boolean {
  return matches(first, second, new Map());
}

/** `names`: maps values of the second list to equal values of the first. */
function matches(
  first: readonly ProgramOp[],
  second: readonly ProgramOp[],
  names: Map<ValueId, ValueId>,
): boolean {
  const nameOf = (id: ValueId): ValueId => names.get(id) ?? id;
  let at = 0;
  for (const op of second) {
    const expected = first[at];
    if (expected && isSameOp(expected, op, nameOf)) {
      op.outputs.forEach((id, i) => {
        names.set(id, expected.outputs[i]!);
      });
      at++;
    } else if (op.op === aliasOp) names.set(op.outputs[0]!, nameOf(op.inputs[0]!));
    else return false;
  }
  return at === first.length;
}

function isSameOp(a: ProgramOp, b: ProgramOp, nameOf: (id: ValueId) => ValueId): boolean {
  if (a.op !== b.op || a.recordsGrad !== b.recordsGrad || a.call || b.call) return false;
  if (a.inputs.length !== b.inputs.length || a.outputs.length !== b.outputs.length) return false;
  if (!a.inputs.every((id, i) => id === nameOf(b.inputs[i]!))) return false;
  return sameAttrs(comparable(a), comparable(b), none) && hasSameRegions(a, b);
}

/** Returns the attributes with each computed number as text: a table has one id for each. */
function comparable({ attrs }: ProgramOp): Attrs {
  const entries = Object.entries(attrs);
  if (!entries.some(([, value]) => isSymbolic(value))) return attrs;
  return Object.fromEntries(
    entries.map(([name, value]) => [name, isSymbolic(value) ? `computed ${value.id}` : value]),
  );
}

function hasSameRegions({ regions: a = [] }: ProgramOp, { regions: b = [] }: ProgramOp): boolean {
  return (
    a.length === b.length &&
    a.every(({ program }, i) => {
      const other = b[i]!.program;
      if (program.inputs.length !== other.inputs.length) return false;
      const names = new Map(other.inputs.map((id, k) => [id, program.inputs[k]!]));
      if (!matches(program.ops, other.ops, names)) return false;
      const outputs = other.outputs.map((id) => names.get(id) ?? id);
      return String(outputs) === String(program.outputs);
    })
  );
}
