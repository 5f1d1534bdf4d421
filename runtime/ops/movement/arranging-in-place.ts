/** Forms that write over their first operand, through a copy as large as it. */

import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { scatter, scatterAdd } from '../indexing/gather.ts';
import { indexAdd, indexCopy, indexFill } from '../indexing/indexing.ts';
import { copy_ } from '../pointwise/in-place.ts';
import { maskedFill, type Operand } from '../pointwise/pointwise.ts';

/** Writes what the out-of-place form answers over `x`. */
function over(x: Tensor, result: () => Tensor): Tensor {
  tidy(() => {
    copy_(x, result());
  });
  return x;
}

export function scatter_(x: Tensor, dim: number, index: Tensor, source: Tensor | number): Tensor {
  return over(x, () => scatter(x, dim, index, source));
}

export function scatterAdd_(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  return over(x, () => scatterAdd(x, dim, index, source));
}

export function indexAdd_(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  return over(x, () => indexAdd(x, dim, index, source));
}

export function indexCopy_(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  return over(x, () => indexCopy(x, dim, index, source));
}

export function indexFill_(x: Tensor, dim: number, index: Tensor, value: number): Tensor {
  return over(x, () => indexFill(x, dim, index, value));
}

export function maskedFill_(x: Tensor, mask: Tensor, value: Operand): Tensor {
  return over(x, () => maskedFill(x, mask, value));
}
