/** Filling of any target, also of expanded ones. */

import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { narrow } from '../movement/movement.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { fill_ as fillApart } from './in-place.ts';

/**
 * Sets all elements to a number, or to the value of a tensor without dimensions, converted to the target's dtype.
 * Elements of one place in memory are written once, as in PyTorch.
 */
export function fill_(target: Tensor, value: number | Tensor): Tensor {
  expectTensors('fill_', target);
  const repeated = target.strides.findIndex((stride, d) => stride === 0 && target.shape[d]! > 1);
  if (repeated < 0) return fillApart(target, value);
  tidy(() => void fill_(narrow(target, repeated, 0, 1), value));
  return target;
}

export const zero_ = (target: Tensor): Tensor => fill_(target, 0);
