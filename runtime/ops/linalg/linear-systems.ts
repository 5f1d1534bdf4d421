/** Inverses, and solutions of linear systems. */

import * as eliminationKernels from '../../device/cpu/scalar/elimination.ts';
import * as trianglesKernels from '../../device/cpu/scalar/triangular.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { flag } from '../../options/option-kinds.ts';
import { promote } from '../../spec/dtype.ts';
import { broadcastShapes, sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { neg } from '../arithmetic/arithmetic.ts';
import { tril, triu } from '../arranging/triangles.ts';
import { bind1 } from '../core/bind.ts';
import { expand } from '../core/broadcast.ts';
import { casting } from '../core/cast.ts';
import { bindFloat, floating } from '../core/promotion.ts';
import { squeeze, transpose, unsqueeze } from '../movement/movement.ts';
import { matmul } from '../products/matmul.ts';
import { defineOp, expectTensor, type OpRecord, saving } from '../record/define-op.ts';
import { expectSystem, inferSquare, inferSystem } from './square-matrices.ts';

const mT = (x: Tensor): Tensor => transpose(x, -1, -2);

export const inverseOp = defineOp({
  name: 'inverse',
  operands: { x: 'data' },
  infer: inferSquare('inverse'),
  kernel: named('inverse', eliminationKernels.inverse),
  mayRefuse: true,
  vjp: {
    // d(x⁻¹) = −x⁻¹ · dx · x⁻¹
    x: saving({ out: 'value' }, ({ out }, dy) => neg(matmul(matmul(mT(out), dy), mT(out)))),
  },
});

/**
 * The inverses of square matrices [.., n, n]. Computed in float64; integers become float32. Throws ArgumentError
 * for a singular matrix.
 */
export function inverse(x: Tensor): Tensor {
  expectTensor(inverseOp, x);
  return bindFloat(inverseOp, x);
}

export const solveOp: OpRecord = defineOp({
  name: 'solve',
  operands: { a: 'data', b: 'data' },
  dtypes: { a: 'floating' },
  infer: inferSystem('solve'),
  kernel: named('solve', eliminationKernels.solve),
  mayRefuse: true,
  vjp: {
    a: saving({ a: 'value', out: 'value' }, ({ a, out }, dy) =>
      neg(matmul(bind1(solveOp, [mT(a), dy]), mT(out))),
    ),
    b: saving({ a: 'value' }, ({ a }, dy) => bind1(solveOp, [mT(a), dy])),
  },
});

export const solveTriangularOp: OpRecord = defineOp({
  name: 'solveTriangular',
  operands: { a: 'data', b: 'data' },
  attrs: { upper: 'boolean', unitriangular: 'boolean' },
  dtypes: { a: 'floating' },
  infer: inferSystem('solveTriangular'),
  kernel: named('solveTriangular', trianglesKernels.solveTriangular),
  mayRefuse: true,
  vjp: {
    a: saving({ a: 'value', out: 'value' }, ({ a, out }, dy, attrs) =>
      readPart(neg(matmul(transposedSystem(a, dy, attrs), mT(out))), attrs),
    ),
    b: saving({ a: 'value' }, ({ a }, dy, attrs) => transposedSystem(a, dy, attrs)),
  },
});

function transposedSystem(a: Tensor, dy: Tensor, attrs: Attrs): Tensor {
  return bind1(solveTriangularOp, [mT(a), dy], { ...attrs, upper: !attrs.upper });
}

/** Zeroes a gradient outside the triangle that the op reads. */
function readPart(gradient: Tensor, { upper, unitriangular }: Attrs): Tensor {
  const inside = unitriangular ? 1 : 0;
  return upper ? triu(gradient, inside) : tril(gradient, -inside);
}

/** Binds the op with both operands in one floating-point dtype and leading dimensions expanded. */
function bindSystem(op: OpRecord, a: Tensor, b: Tensor, attrs: Attrs = {}): Tensor {
  return casting([a, b], floating(promote(a.dtype, b.dtype)), ([left, right]) => {
    const lead = broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2), op.name);
    const all = (x: Tensor) => {
      const shape = [...lead, ...x.shape.slice(-2)];
      return sameShape(shape, x.shape) ? x : expand(x, shape);
    };
    return bind1(op, [all(left!), all(right!)], attrs);
  });
}

export interface SolveOptions {
  /** Solves a·x = b if true (the default), x·a = b if false. */
  readonly left?: boolean;
}

/** Whether b is one right-hand side per matrix, lacking the last dimension. */
function isVector(a: Tensor, b: Tensor): boolean {
  if (b.rank === 1) return true;
  return a.rank - 1 === b.rank && sameShape(a.shape.slice(0, -1), b.shape);
}

/** Rejects a vector for x·a = b, whose right-hand sides are rows: the dimension would be ambiguous. */
function refuseVector(a: Tensor, b: Tensor): never {
  throw new ShapeError({
    what: 'solve: vectors from the right',
    given: `${formatSpec(a)} and ${formatSpec(b)}, left: false`,
    expected: '[…, n, n] and […, k, n]',
    remedy: 'unsqueeze(-2) the vectors, or transpose the matrices (a.mT) and leave `left` out',
  });
}

/**
 * The x with a·x = b, for square matrices a [.., n, n] and b [.., n, k], [n] or [.., n]; leading dimensions
 * broadcast. Computed in float64. Throws ArgumentError if a matrix is singular.
 */
export function solve(a: Tensor, b: Tensor, options: SolveOptions = {}): Tensor {
  expectOptions('solve', options, { left: flag });
  const { left = true } = options;
  expectTensor(solveOp, a);
  expectTensor(solveOp, b);
  return tidy(() => {
    if (isVector(a, b)) {
      if (!left) refuseVector(a, b);
      return squeeze(solve(a, unsqueeze(b, -1)), -1);
    }
    if (!left) return mT(solve(mT(a), mT(b)));
    expectSystem('solve', a, b);
    return bindSystem(solveOp, a, b);
  });
}

export interface TriangularOptions extends SolveOptions {
  /** Whether to read the matrix's upper triangle. */
  readonly upper: boolean;
  /** Assumes 1 on the diagonal, whatever it contains. */
  readonly unitriangular?: boolean;
}

/**
 * The x with a·x = b, for triangular matrices a [.., n, n] and b [.., n, k]; leading dimensions broadcast.
 * Computed in float64. Throws ArgumentError for a 0 on a diagonal that is read.
 */
export function solveTriangular(a: Tensor, b: Tensor, options: TriangularOptions): Tensor {
  expectOptions('solveTriangular', options, { upper: flag, left: flag, unitriangular: flag });
  const { upper, left = true, unitriangular = false } = options;
  expectTensor(solveTriangularOp, a);
  expectTensor(solveTriangularOp, b);
  return tidy(() => {
    if (!left) return mT(solveTriangular(mT(a), mT(b), { upper: !upper, unitriangular }));
    expectSystem('solveTriangular', a, b);
    return bindSystem(solveTriangularOp, a, b, { upper: Boolean(upper), unitriangular });
  });
}

export interface TriangularSolveOptions {
  readonly upper?: boolean;
  /** Solves aᵀ·x = b; `upper` still refers to a. */
  readonly transpose?: boolean;
  readonly unitriangular?: boolean;
}

/** `solveTriangular` as a method of the right-hand sides; returns only the solution, without the matrix. */
export function triangularSolve(
  b: Tensor,
  a: Tensor,
  options: TriangularSolveOptions = {},
): Tensor {
  expectOptions('triangularSolve', options, { upper: flag, transpose: flag, unitriangular: flag });
  const { upper = true, transpose: flipped = false, unitriangular = false } = options;
  expectTensor(solveTriangularOp, a);
  return tidy(() =>
    flipped
      ? solveTriangular(mT(a), b, { upper: !upper, unitriangular })
      : solveTriangular(a, b, { upper, unitriangular }),
  );
}
