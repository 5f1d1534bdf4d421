/** The factorization of matrices into a permutation, a lower and an upper triangle. */

import * as luKernels from '../../device/cpu/scalar/lu-factors.ts';
import { deviceGuard } from '../../device/current.ts';
import { named } from '../../device/kernel-op.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import { naming } from '../../errors/naming.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, sub } from '../arithmetic/arithmetic.ts';
import { tril, triu } from '../arranging/triangles.ts';
import { bind } from '../core/bind.ts';
import { cast } from '../core/cast.ts';
import { floating } from '../core/promotion.ts';
import { cat } from '../movement/joining.ts';
import { narrow, transpose, unsqueeze } from '../movement/movement.ts';
import { arange, eye } from '../movement/ranges.ts';
import { eq } from '../pointwise/comparison.ts';
import { matmul } from '../products/matmul.ts';
import { defineOp, expectTensor, saving } from '../record/define-op.ts';
import { solveTriangular } from './linear-systems.ts';
import { expectFloating, expectMatrices } from './square-matrices.ts';

const mT = (x: Tensor): Tensor => transpose(x, -1, -2);

const inferFactors = ([x]: readonly TensorMeta[]) => {
  expectFloating('lu', x!);
  expectMatrices('lu', x!);
  const { dtype, shape } = x!;
  return [
    { dtype, shape },
    { dtype: 'int32' as const, shape: shape.slice(0, -1) },
  ];
};

/** Returns the leading k × k part of a matrix, and the parts to the right of it and below it. */
function quarters(x: Tensor, k: number): [first: Tensor, right: Tensor, below: Tensor] {
  const [m, n] = x.shape.slice(-2) as [number, number];
  const top = narrow(x, -2, 0, k);
  return [
    narrow(top, -1, 0, k),
    narrow(top, -1, k, n - k),
    narrow(narrow(x, -2, k, m - k), -1, 0, k),
  ];
}

/** Returns the matrix P with rows of P·y in the original order. */
function permutation(order: Tensor, like: TensorMeta): Tensor {
  const rows = deviceGuard(order.device, () => arange(order.shape.at(-1)!));
  return cast(eq(unsqueeze(order, -2), unsqueeze(rows, -1)), like.dtype);
}

/** One result contains both triangles, because only the first result of an op has a gradient. */
export const luFactorsOp = defineOp({
  name: 'luFactors',
  operands: { x: 'data' },
  infer: inferFactors,
  kernel: named('luFactors', luKernels.luFactors),
  vjp: {
    x: saving({ out: 'value', out1: 'value' }, ({ out, out1 }, dy) =>
      naming('lu', () => gradientOf(out, out1, dy)),
    ),
  },
});

/** Computes the gradient of x = P·[l; l′]·[u u′]: with M = l⁻¹·dx·u⁻¹, dl = l·tril(M, −1) and du = triu(M)·u. */
function gradientOf(packed: Tensor, rows: Tensor, dy: Tensor): Tensor {
  const k = Math.min(...packed.shape.slice(-2));
  const [both, right, below] = quarters(packed, k);
  const [change, rightChange, belowChange] = quarters(dy, k);
  const [l, u] = [mT(both), mT(triu(both))];
  const lower = { upper: true, unitriangular: true };
  const beforeU = (b: Tensor) => solveTriangular(u, b, { upper: false, left: false });
  const unit = add(tril(both, -1), eyeLike(both));
  const ofL = sub(matmul(mT(unit), tril(change, -1)), matmul(rightChange, mT(right)));
  const ofU = sub(matmul(triu(change), u), matmul(mT(below), belowChange));
  const first = solveTriangular(l, add(tril(ofL, -1), triu(ofU)), lower);
  const top = cat([beforeU(first), solveTriangular(l, rightChange, lower)], -1);
  const all = packed.shape.at(-2)! > k ? cat([top, beforeU(belowChange)], -2) : top;
  return matmul(permutation(rows, packed), all);
}

const eyeLike = ({ shape, dtype, device }: Tensor): Tensor =>
  eye(shape.at(-2)!, shape.at(-1)!, { dtype, device });

/**
 * `[P, L, U]` with P·L·U = x for matrices [.., m, n], by elimination with partial pivoting: a permutation [.., m, m], 1
 * on the diagonal of the lower triangle [.., m, k], and the upper triangle [.., k, n], k the smaller of m and n. Computed
 * in float64; integers become float32. Gradients require pivots other than 0 (ArgumentError).
 */
export function lu(x: Tensor): [p: Tensor, l: Tensor, u: Tensor] {
  return naming('lu', () => {
    expectTensor(luFactorsOp, x);
    return tidy(() => {
      const converted = cast(x, floating(x.dtype));
      const [packed, order] = bind(luFactorsOp, [converted]) as [Tensor, Tensor];
      const k = Math.min(...converted.shape.slice(-2));
      const left = narrow(packed, -1, 0, k);
      const p = permutation(order, converted);
      return [p, add(tril(left, -1), eyeLike(left)), triu(narrow(packed, -2, 0, k))];
    });
  });
}
