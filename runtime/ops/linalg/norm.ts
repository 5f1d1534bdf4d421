/** The norms of vectors, and the nuclear norm of matrices. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { reshape } from '../movement/movement.ts';
import { movedim } from '../movement/views.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import {
  type DimOptions,
  type Dims,
  hasKeywords,
  positional,
  type ReduceOptions,
  sum,
} from '../reduce/reduce.ts';
import { vectorNorm } from '../reduce/statistics.ts';
import { svdvals } from './singular-values.ts';

/**
 * (Σ |x|^p)^(1/p); p may be Infinity (the maximum), −Infinity (the minimum) and 0 (the number of nonzero
 * elements). 'fro' is 2; 'nuc' is the sum of the singular values of matrices, over the two `dims`.
 */
export function norm(
  x: Tensor,
  p: number | 'fro' | 'nuc' = 2,
  dims?: Dims | DimOptions,
  options: ReduceOptions | boolean = {},
): Tensor {
  if (p !== 'nuc') return vectorNorm(x, p, dims, options);
  return naming('norm', () => {
    expectTensors('norm', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options))
      return norm(x, p, ...positional('norm', dims, options));
    if (anyHalf(x)) return roundedOnce([x], (wide) => norm(wide, p, dims, options));
    return nuclearNorm(x, dims, options);
  });
}

/** The nuclear norms of the matrices in two dimensions: `dims`, or those of a matrix. */
function nuclearNorm(x: Tensor, dims: Dims, { keepDim = false }: ReduceOptions): Tensor {
  const axes = dims === undefined ? x.shape.map((_, d) => d) : ([dims].flat() as number[]);
  const [rows, columns, ...more] = axes.map((dim) => normalizeDim(dim, x.rank, 'norm'));
  if (rows === undefined || columns === undefined || rows === columns || more.length > 0) {
    throw new ShapeError({
      what: 'norm: the nuclear norm is of matrices',
      given: `${formatSpec(x)} over ${axes.length} dimension(s)`,
      expected: 'two dimensions',
      remedy: 'pass the two dimensions of the matrices',
    });
  }
  return tidy(() => {
    const sums = sum(svdvals(movedim(x, [rows, columns], [-2, -1])), -1);
    if (!keepDim) return sums;
    return reshape(
      sums,
      x.shape.map((size, d) => (d === rows || d === columns ? 1 : size)),
    );
  });
}
