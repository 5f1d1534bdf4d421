/** Outputs of a program that a run may leave as one tensor. */

import { ValueGroups } from '../../runtime/program/memory-groups.ts';
import type { Program } from '../../runtime/program/program.ts';
import { sameLayout } from '../../runtime/tensor/meta.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';

/** An output, and earlier ones that it may be: on some path eager execution has one tensor for both. */
export type SameOutput = readonly [output: number, earlier: readonly number[]];

/** `reads`: outputs that are read for a number and are handles of their own. */
export function sameOutputs(
  { values, ops, outputs }: Program,
  reads: readonly number[],
): readonly SameOutput[] {
  if (outputs.length < 2 || !ops.some(({ regions }) => regions)) return [];
  const groups = new ValueGroups(ops, 'tensor');
  return outputs.flatMap((id, output): SameOutput[] => {
    if (reads.includes(output)) return [];
    const earlier = outputs.slice(0, output).flatMap((other, i) => {
      const isOther = other !== id && !reads.includes(i);
      const maybe = isOther && groups.of(other) === groups.of(id);
      return maybe && sameLayout(values[other]!, values[id]!) ? [i] : [];
    });
    return earlier.length > 0 ? [[output, earlier]] : [];
  });
}

/** Puts one handle in the place of several that show the same memory. */
export function joinSame(outputs: Tensor[], same: readonly SameOutput[]): void {
  for (const [output, earlier] of same) {
    const { holder, offset, requiresGrad } = outputs[output]!;
    const found = earlier.find((i) => {
      const other = outputs[i]!;
      const isAlike = other.offset === offset && other.requiresGrad === requiresGrad;
      return other.holder === holder && isAlike;
    });
    if (found === undefined || outputs[found] === outputs[output]) continue;
    outputs[output]!.dispose();
    outputs[output] = outputs[found]!;
  }
}
