/** The Cholesky factorization of positive definite matrices. */

import * as trianglesKernels from '../../device/cpu/scalar/triangular.ts';
import { named } from '../../device/kernel-op.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { flag } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { tril } from '../arranging/triangles.ts';
import { bindFloat } from '../core/promotion.ts';
import { transpose } from '../movement/movement.ts';
import { diagEmbed } from '../movement/place.ts';
import { diagonal } from '../movement/views.ts';
import { matmul } from '../products/matmul.ts';
import { defineOp, expectTensor, saving } from '../record/define-op.ts';
import { solveTriangular } from './linear-systems.ts';
import { inferSquare } from './square-matrices.ts';

const mT = (x: Tensor): Tensor => transpose(x, -1, -2);

/** The lower triangle, with the diagonal halved. */
function lowerHalf(x: Tensor): Tensor {
  return sub(tril(x), mul(diagEmbed(diagonal(x, 0, -2, -1)), 0.5));
}

export const choleskyOp = defineOp({
  name: 'cholesky',
  operands: { x: 'data' },
  infer: inferSquare('cholesky'),
  kernel: named('cholesky', trianglesKernels.cholesky),
  mayRefuse: true,
  vjp: {
    // Murray: Differentiation of the Cholesky decomposition (2016). L⁻ᵀ · lowerHalf(Lᵀ·dL) · L⁻¹, symmetrized,
    // because both triangles of x are the same variable.
    x: saving({ out: 'value' }, ({ out }, dy) => {
      const inner = lowerHalf(matmul(mT(out), tril(dy)));
      const left = solveTriangular(mT(out), inner, { upper: true });
      const both = solveTriangular(out, left, { upper: false, left: false });
      return mul(add(both, mT(both)), 0.5);
    }),
  },
});

export interface CholeskyOptions {
  /** Returns Lᵀ. */
  readonly upper?: boolean;
}

/**
 * The lower triangular L with L·Lᵀ = x, for symmetric positive definite matrices x [.., n, n]; reads only the lower
 * triangle. Computed in float64; integers become float32. Throws ArgumentError for any other matrix.
 */
export function cholesky(x: Tensor, options: CholeskyOptions = {}): Tensor {
  expectOptions('cholesky', options, { upper: flag });
  const { upper = false } = options;
  expectTensor(choleskyOp, x);
  return tidy(() => {
    const lower = bindFloat(choleskyOp, x);
    return upper ? mT(lower) : lower;
  });
}
