/** The factorization of matrices into a permutation, a lower and an upper triangle. */

import * as luKernels from '../../device/cpu/scalar/lu-factors.ts';
import { deviceGuard } from '../../device/current.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { flag } from '../../options/option-kinds.ts';
import { broadcastShapes, sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, sub } from '../arithmetic/arithmetic.ts';
import { tril, triu } from '../arranging/triangles.ts';
import { bind, bind1 } from '../core/bind.ts';
import { expand } from '../core/broadcast.ts';
import { cast } from '../core/cast.ts';
import { floating } from '../core/promotion.ts';
import { gather } from '../indexing/gather.ts';
import { cat } from '../movement/joining.ts';
import { narrow, transpose, unsqueeze } from '../movement/movement.ts';
import { arange, eye } from '../movement/ranges.ts';
import { eq } from '../pointwise/comparison.ts';
import { matmul } from '../products/matmul.ts';
import { defineOp, expectTensor, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { argsort } from '../reduce/order.ts';
import { type SolveOptions, solveTriangular } from './linear-systems.ts';
import { expectFloating, expectMatrices, expectSystem } from './square-matrices.ts';

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

/** The exchanges of rows that lead to an order. */
export const luPivotsOp = defineOp({
  name: 'luPivots',
  operands: { order: 'data' },
  attrs: { count: 'size' },
  dtypes: { order: 'int32' },
  infer: ([order], { count }) => ({
    dtype: 'int32',
    shape: [...order!.shape.slice(0, -1), count as number],
  }),
  kernel: named('luPivots', luKernels.luPivots),
});

/** The order that exchanges of rows lead to. */
export const luRowsOp = defineOp({
  name: 'luRows',
  operands: { pivots: 'data' },
  attrs: { count: 'size' },
  dtypes: { pivots: 'int32' },
  infer: ([pivots], { count }) => ({
    dtype: 'int32',
    shape: [...pivots!.shape.slice(0, -1), count as number],
  }),
  kernel: named('luRows', luKernels.luRows),
  mayRefuse: true,
});

/**
 * `[LU, pivots]` of matrices [.., m, n] for `luSolve`: U on and above the diagonal, L below it, [.., m, n], and the rows,
 * from 1 on, that the rows of the k pivots were exchanged with, one after the other: int32 [.., k], k the smaller of m and
 * n. Computed in float64; integers become float32.
 */
export function luFactor(x: Tensor): [lu: Tensor, pivots: Tensor] {
  return naming('luFactor', () => {
    expectTensor(luFactorsOp, x);
    return tidy(() => {
      const [packed, order] = bind(luFactorsOp, [cast(x, floating(x.dtype))]) as [Tensor, Tensor];
      const count = Math.min(...packed.shape.slice(-2));
      return [packed, bind1(luPivotsOp, [order], { count })];
    });
  });
}

export interface LuSolveOptions extends SolveOptions {
  /** Solves with aᵀ in place of a. */
  readonly adjoint?: boolean;
}

/**
 * The x with a·x = b for the factors of square matrices a [.., n, n] that `luFactor` returned, and b [.., n, k]; leading
 * dimensions broadcast. Throws ArgumentError if a matrix is singular.
 */
export function luSolve(
  lu: Tensor,
  pivots: Tensor,
  b: Tensor,
  options: LuSolveOptions = {},
): Tensor {
  expectOptions('luSolve', options, { left: flag, adjoint: flag });
  const { left = true, adjoint = false } = options;
  expectTensors('luSolve', lu, pivots, b);
  return naming('luSolve', () =>
    tidy(() => {
      if (!left) return mT(luSolve(lu, pivots, mT(b), { adjoint: !adjoint }));
      expectSystem('luSolve', lu, b);
      expectPivots(lu, pivots);
      const [n, columns] = b.shape.slice(-2) as [number, number];
      const lead = broadcastShapes(lu.shape.slice(0, -2), b.shape.slice(0, -2), 'luSolve');
      const order = bind1(luRowsOp, [pivots], { count: n });
      const all = expand(b, [...lead, n, columns]);
      const taken = (rows: Tensor, y: Tensor): Tensor =>
        gather(y, -2, expand(unsqueeze(rows, -1), y.shape));
      const lower = { upper: false, unitriangular: true };
      if (!adjoint)
        return solveTriangular(lu, solveTriangular(lu, taken(order, all), lower), { upper: true });
      const inner = solveTriangular(mT(lu), all, { upper: false });
      return taken(argsort(order), solveTriangular(mT(lu), inner, { ...lower, upper: true }));
    }),
  );
}

function expectPivots(lu: Tensor, pivots: Tensor): void {
  if (pivots.dtype === 'int32' && sameShape(pivots.shape, lu.shape.slice(0, -1))) return;
  throw new ShapeError({
    what: "luSolve: the pivots don't fit the factors",
    given: `${formatSpec(lu)} and ${formatSpec(pivots)}`,
    expected: `i32[${lu.shape.slice(0, -1).join()}]`,
    remedy: 'pass both tensors that luFactor returned',
  });
}

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
