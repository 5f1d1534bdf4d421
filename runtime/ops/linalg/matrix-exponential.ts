import * as exponentialKernels from '../../device/cpu/scalar/matrix-exponential.ts';
import { named } from '../../device/kernel-op.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { bindFloat } from '../core/promotion.ts';
import { cat } from '../movement/joining.ts';
import { narrow, transpose } from '../movement/movement.ts';
import { zerosLike } from '../movement/ranges.ts';
import { defineOp, expectTensor, type OpRecord, saving } from '../record/define-op.ts';
import { inferSquare } from './square-matrices.ts';

export const matrixExpOp: OpRecord = defineOp({
  name: 'matrixExp',
  operands: { x: 'data' },
  infer: inferSquare('matrixExp'),
  kernel: named('matrixExp', exponentialKernels.matrixExp),
  vjp: {
    // A block of the exponential of [xᵀ dy; 0 xᵀ] (Najfeld, Havel, 1995).
    x: saving({ x: 'value' }, ({ x }, dy) => {
      const n = x.shape.at(-1)!;
      const turned = transpose(x, -1, -2);
      const rows = [cat([turned, dy], -1), cat([zerosLike(turned), turned], -1)];
      const both = bind1(matrixExpOp, [cat(rows, -2)]);
      return narrow(narrow(both, -2, 0, n), -1, n, n);
    }),
  },
});

/** Returns Σ xᵏ / k! of square matrices [.., n, n]. Computed in float64; integers become float32. */
export function matrixExp(x: Tensor): Tensor {
  expectTensor(matrixExpOp, x);
  return tidy(() => bindFloat(matrixExpOp, x));
}
