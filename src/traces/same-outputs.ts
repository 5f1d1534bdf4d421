/** Outputs of a program that may be the same tensor in a run, or a tensor that the run received. */

import { sameLayout } from '../../runtime/device/tensor-meta.ts';
import { aliasOp } from '../../runtime/program/alias-op.ts';
import { ValueGroups } from '../../runtime/program/memory-groups.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import type { SameOutput } from '../../runtime/run-program/same-outputs.ts';

/** `reads`: outputs that are read as numbers and have separate handles. */
export function sameOutputs(
  { values, ops, inputs, outputs }: Program,
  reads: readonly number[],
): readonly SameOutput[] {
  if (!ops.some(({ regions }) => regions)) return [];
  const groups = new ValueGroups(ops, 'tensor');
  const leaves = new Set(
    ops.flatMap(({ op, attrs, outputs: made }) =>
      op === aliasOp && attrs.leaf === 'own' ? made : [],
    ),
  );
  return outputs.flatMap((id, output): SameOutput[] => {
    if (reads.includes(output)) return [];
    const maybe = (other: ValueId): boolean =>
      other !== id && groups.of(other) === groups.of(id) && sameLayout(values[other]!, values[id]!);
    // Of several outputs, a leaf receives the gradients.
    const others = outputs.flatMap((other, i) => {
      const isFirst = leaves.has(id) === leaves.has(other) ? i < output : leaves.has(other);
      if (!isFirst || reads.includes(i) || !maybe(other)) return [];
      return [{ index: i, isLeaf: leaves.has(other) }];
    });
    const mayBeInput = inputs.some(maybe);
    return mayBeInput || others.length > 0 ? [{ output, others, mayBeInput }] : [];
  });
}
