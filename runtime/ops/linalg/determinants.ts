/** Determinants of square matrices, and their logarithms. */

import * as cofactorKernels from '../../device/cpu/scalar/cofactors.ts';
import * as eliminationKernels from '../../device/cpu/scalar/elimination.ts';
import { named } from '../../device/kernel-op.ts';
import { naming } from '../../errors/naming.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { log } from '../arithmetic/functions.ts';
import { bind, bind1 } from '../core/bind.ts';
import { cast } from '../core/cast.ts';
import { bindFloat, floating } from '../core/promotion.ts';
import { transpose, unsqueeze } from '../movement/movement.ts';
import { matmul } from '../products/matmul.ts';
import { defineOp, expectTensor, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { sum } from '../reduce/reduce.ts';
import { inverse } from './linear-systems.ts';
import { inferPerMatrix, inferSquare } from './square-matrices.ts';

const mT = (x: Tensor): Tensor => transpose(x, -1, -2);
/** Reshapes one number per matrix to broadcast with matrices. */
const perMatrix = (x: Tensor): Tensor => unsqueeze(unsqueeze(x, -1), -1);

export const cofactorsOp: OpRecord = defineOp({
  name: 'cofactors',
  operands: { x: 'data' },
  infer: inferSquare('cofactors'),
  kernel: named('cofactors', cofactorKernels.cofactors),
  vjp: {
    // The derivative is det x · x⁻ᵀ. It needs the inverse, so a singular matrix is rejected.
    x: saving({ x: 'value', out: 'value' }, ({ x, out }, dy) => {
      const flipped = mT(inverse(x));
      const along = sum(mul(dy, out), [-2, -1], { keepDim: true });
      return sub(mul(along, flipped), matmul(matmul(flipped, mT(dy)), out));
    }),
  },
});

export const detOp = defineOp({
  name: 'det',
  operands: { x: 'data' },
  infer: inferPerMatrix('det'),
  kernel: named('det', eliminationKernels.det),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy) => mul(perMatrix(dy), bind1(cofactorsOp, [x]))) },
});

/**
 * The determinants of square matrices [.., n, n] → [..]. Computed in float64; integers become float32. Singular
 * matrices have first-order gradients only (ArgumentError).
 */
export function det(x: Tensor): Tensor {
  expectTensor(detOp, x);
  return bindFloat(detOp, x);
}

/** Returns the logarithm, which has a gradient, and the sign. */
export const logAbsDetOp = defineOp({
  name: 'logAbsDet',
  operands: { x: 'data' },
  infer: ([x]) => {
    const one = inferPerMatrix('slogdet')([x!]);
    return [one, one];
  },
  kernel: named('logAbsDet', eliminationKernels.logAbsDet),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy) => mul(perMatrix(dy), mT(inverse(x)))) },
});

/**
 * `[sign, ln |determinant|]` of square matrices, each [..], even if the determinant itself overflows or
 * underflows. 0 and −∞ for a singular matrix, which has no gradient (ArgumentError).
 */
export function slogdet(x: Tensor): [sign: Tensor, logAbsDet: Tensor] {
  expectTensors('slogdet', x);
  return tidy(() => {
    const [logarithm, sign] = bind(logAbsDetOp, [cast(x, floating(x.dtype))]);
    return [sign!, logarithm!];
  });
}

/** ln of the determinant: NaN if it is negative, −∞ if it is 0. */
export function logdet(x: Tensor): Tensor {
  return naming('logdet', () => {
    expectTensors('logdet', x);
    return tidy(() => {
      const [sign, logarithm] = slogdet(x);
      return add(logarithm, log(sign));
    });
  });
}
