/** The nuclear norm: the sum of a matrix's singular values. */

import { gradEnabled } from '../../autograd/grad-mode.ts';
import * as singularValuesKernels from '../../device/cpu/scalar/singular-values.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { AutogradError, ShapeError } from '../../errors/errors.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul } from '../arithmetic/arithmetic.ts';
import { bind } from '../core/bind.ts';
import { cast } from '../core/cast.ts';
import { floating } from '../core/promotion.ts';
import { reshape, unsqueeze } from '../movement/movement.ts';
import { movedim } from '../movement/views.ts';
import { defineOp, saving } from '../record/define-op.ts';
import type { Dims, ReduceOptions } from './reduce.ts';

/** Returns the norm and its gradient U·Vᵀ, a by-product of the decomposition that backward needs. */
export const nuclearNormOp = defineOp({
  name: 'nuclearNorm',
  operands: { x: 'data' },
  dtypes: { x: 'floating' },
  infer: ([x]) => [
    { dtype: x!.dtype, shape: x!.shape.slice(0, -2) },
    { dtype: x!.dtype, shape: x!.shape },
  ],
  kernel: named('nuclearNorm', singularValuesKernels.nuclearNorm),
  vjp: {
    x: saving({ out1: 'value' }, ({ out1 }, dy) => {
      if (gradEnabled()) refuseSecond();
      return mul(unsqueeze(unsqueeze(dy, -1), -1), out1);
    }),
  },
});

/** Rejects second-order gradients: treating U·Vᵀ as constant would be wrong, because it depends on the matrix. */
function refuseSecond(): never {
  throw new AutogradError({
    what: 'nuclearNorm: its gradient cannot be differentiated again',
    given: 'a backward with createGraph',
    expected: 'ops whose gradients can be differentiated again',
    remedy: 'leave createGraph out, or use another norm',
  });
}

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
    const matrices = movedim(cast(x, floating(x.dtype)), [rows, columns], [-2, -1]);
    const [sums, slope] = bind(nuclearNormOp, [matrices]);
    slope!.dispose();
    if (!keepDim) return sums!;
    return reshape(
      sums!,
      x.shape.map((size, d) => (d === rows || d === columns ? 1 : size)),
    );
  });
}
