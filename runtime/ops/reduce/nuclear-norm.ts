/** The nuclear norm: the sum of a matrix's singular values. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { svdvals } from '../linalg/singular-values.ts';
import { reshape } from '../movement/movement.ts';
import { movedim } from '../movement/views.ts';
import { type Dims, type ReduceOptions, sum } from './reduce.ts';

/** The nuclear norms of the matrices in two dimensions: `dims`, or those of a matrix. */
export function nuclearNorm(x: Tensor, dims: Dims, { keepDim = false }: ReduceOptions): Tensor {
  const given = dims === undefined ? x.shape.map((_, d) => d) : ([dims].flat() as number[]);
  const [rows, columns, ...more] = given.map((dim) => normalizeDim(dim, x.rank, 'norm'));
  if (rows === undefined || columns === undefined || rows === columns || more.length > 0) {
    throw new ShapeError({
      what: 'norm: the nuclear norm is of matrices',
      given: `${formatSpec(x)} over ${given.length} dimension(s)`,
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
