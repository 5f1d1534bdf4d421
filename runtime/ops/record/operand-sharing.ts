/** The effect of an in-place write on operands that share its target's memory. */

import type { TensorMeta } from '../../device/tensor-meta.ts';
import { broadcastStrides, sizeOf } from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { isSymbolic } from '../numbers/symbolic-number.ts';

/**
 * `apart`: separate memory. `sameMemory`: the target's memory, but no element is overwritten before it is read: the
 * operand has the target's elements at the same positions, or none of them. `overlapping`: some element may be.
 */
export type OperandSharing = 'apart' | 'sameMemory' | 'overlapping';

export function sharingWith(target: Tensor, operand: Tensor): OperandSharing {
  if (operand.holder !== target.holder || operand.holder === null) return 'apart';
  return isOverwritten(target, operand) ? 'overlapping' : 'sameMemory';
}

/** Whether a write to `target` may change an element of `operand`, in the same memory, before it is read. */
export function isOverwritten(target: TensorMeta, operand: TensorMeta): boolean {
  return !isElementwise(target, operand) && meet(target, operand);
}

/** Whether each target element is computed from the operand's element at the same position. */
function isElementwise(target: TensorMeta, operand: TensorMeta): boolean {
  if (operand.offset !== target.offset || operand.shape.length > target.shape.length) return false;
  const strides = broadcastStrides(operand.shape, operand.strides, target.shape);
  return target.shape.every((size, d) => size <= 1 || strides[d] === target.strides[d]);
}

/** The maximum steps of the search for a common element, after which one is assumed to exist. */
const mostSteps = 1000;

/** Whether two views of one memory have a common element; exact unless offsets are data-dependent. */
function meet(a: TensorMeta, b: TensorMeta): boolean {
  if (sizeOf(a.shape) === 0 || sizeOf(b.shape) === 0) return false;
  if (isSymbolic(a.offset) || isSymbolic(b.offset)) return true;
  // Views have a common element if Σ stride · index differ by the offsets: one sum over all strides.
  const ranges = new Map<number, { least: number; most: number }>();
  const add = ({ shape, strides }: TensorMeta, sign: 1 | -1): void => {
    shape.forEach((size, d) => {
      if (size === 1 || strides[d] === 0) return;
      const stride = Math.abs(strides[d]!);
      const range = ranges.get(stride) ?? { least: 0, most: 0 };
      ranges.set(stride, range);
      if (sign * strides[d]! > 0) range.most += size - 1;
      else range.least -= size - 1;
    });
  };
  add(a, 1);
  add(b, -1);
  const terms = [...ranges].sort(([x], [y]) => y - x);
  // The range of sums that the remaining terms can reach.
  const reach = terms.map((_, i) => ({
    least: terms.slice(i).reduce((sum, [stride, { least }]) => sum + stride * least, 0),
    most: terms.slice(i).reduce((sum, [stride, { most }]) => sum + stride * most, 0),
  }));
  reach.push({ least: 0, most: 0 });
  let steps = 0;
  const isSum = (total: number, i: number): boolean => {
    if (++steps > mostSteps) return true;
    if (i === terms.length) return total === 0;
    const [stride, { least, most }] = terms[i]!;
    const rest = reach[i + 1]!;
    const from = Math.max(least, Math.ceil((total - rest.most) / stride));
    const to = Math.min(most, Math.floor((total - rest.least) / stride));
    for (let k = from; k <= to; k++) if (isSum(total - k * stride, i + 1)) return true;
    return false;
  };
  return isSum(b.offset - a.offset, 0);
}
