import { isContiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import { aliasOp } from '../../runtime/program/alias-op.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { equalValues } from '../5-optimize/common-subexpressions.ts';

/** Returns ops that copy the kept one of merged equal values to the others, which the history may refer to. */
export function copiesOfEqual(traced: Program, kept: ReadonlySet<ValueId>): ProgramOp[] {
  const classes = new Map<ValueId, ValueId[]>();
  for (const [id, [first]] of equalValues(traced)) {
    if (first !== undefined) classes.set(first, [...(classes.get(first) ?? [first]), id]);
  }
  return [...classes.values()].flatMap((equal) => {
    const from = equal.find((id) => kept.has(id));
    if (from === undefined) return [];
    // Equal views with a non-contiguous layout have the same layout.
    const op = isContiguousMeta(traced.values[from]!) ? copy : aliasOp;
    return equal.flatMap((id): ProgramOp[] => {
      if (kept.has(id)) return [];
      return [{ op, inputs: [from], outputs: [id], attrs: {}, recordsGrad: false, at: undefined }];
    });
  });
}
