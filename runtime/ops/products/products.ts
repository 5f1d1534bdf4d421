/** Matrix and vector products by name, and sums with them. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { anyOperand } from '../../options/option-kinds.ts';
import { formatShape, normalizeDim, sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { cast } from '../core/cast.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { cat } from '../movement/joining.ts';
import { narrow, permute, reshape, unsqueeze } from '../movement/movement.ts';
import { expandTogether } from '../movement/views.ts';
import { equals } from '../numbers/number-arithmetic.ts';
import {
  expectList,
  expectOptional,
  expectTensorList,
  expectTensors,
} from '../record/expect-tensors.ts';
import { expectWhole } from '../record/positional.ts';
import { sum } from '../reduce/reduce.ts';
import { einsum } from './einsum.ts';
import { matmul } from './matmul.ts';

function expectRanks(name: string, tensors: readonly Tensor[], ranks: readonly number[]): void {
  expectTensorList(name, tensors);
  if (tensors.every((x, i) => x.rank === ranks[i])) return;
  throw new ShapeError({
    what: `${name}: not the right dimensions`,
    given: tensors.map(formatSpec).join(' and '),
    expected: `${ranks.join(' and ')} dimensions`,
    remedy: 'matmul() takes operands of any rank',
  });
}

const ofRanks =
  (name: string, rankA: number, rankB: number) =>
  (a: Tensor, b: Tensor): Tensor => {
    expectRanks(name, [a, b], [rankA, rankB]);
    return naming(name, () => matmul(a, b));
  };

/** [m,k] · [k,n] */
export const mm = ofRanks('mm', 2, 2);
/** [m,k] · [k] */
export const mv = ofRanks('mv', 2, 1);
/** [b,m,k] · [b,k,n] */
export function bmm(a: Tensor, b: Tensor): Tensor {
  return naming('bmm', () => {
    expectRanks('bmm', [a, b], [3, 3]);
    if (a.shape[0] === b.shape[0]) return matmul(a, b);
    throw new ShapeError({
      what: 'bmm: batches of different sizes',
      given: `${formatSpec(a)} and ${formatSpec(b)}`,
      expected: 'equal first dimensions',
      remedy: 'matmul() broadcasts them',
    });
  });
}

/** The dot product of two vectors. */
export function dot(a: Tensor, b: Tensor): Tensor {
  return naming('dot', () => {
    expectTensors('dot', a, b);
    expectRanks('dot', [a, b], [1, 1]);
    return matmul(a, b);
  });
}

export { dot as vdot };

/** The outer product of two vectors: [n,m]. */
export function outer(a: Tensor, b: Tensor): Tensor {
  expectTensors('outer', a, b);
  expectRanks('outer', [a, b], [1, 1]);
  return tidy(() => mul(unsqueeze(a, 1), b));
}

/** Sums of products over the last dimension of both: […a, …b]. */
export function inner(a: Tensor, b: Tensor): Tensor {
  return naming('inner', () => {
    expectTensors('inner', a, b);
    return tidy(() => {
      if (a.rank === 0 || b.rank === 0) return mul(a, b);
      return tensordot(a, b, [[-1], [-1]]);
    });
  });
}

/** The product summed over pairs of dimensions: the last `dims` of `a` with the first of `b`, or the listed ones. */
export function tensordot(
  a: Tensor,
  b: Tensor,
  dims: number | readonly [readonly number[], readonly number[]] = 2,
): Tensor {
  return naming('tensordot', () => {
    expectTensors('tensordot', a, b);
    if (!Array.isArray(dims)) expectWhole('tensordot', 'dims', dims);
    else for (const i of [0, 1]) expectList('tensordot', 'dimensions', dims[i]);
    const count = typeof dims === 'number' ? dims : dims[0].length;
    const [ofA, ofB] =
      typeof dims === 'number'
        ? [range(a.rank - dims, a.rank), range(0, dims)]
        : [
            dims[0].map((dim) => normalizeDim(dim, a.rank, 'tensordot')),
            dims[1].map((dim) => normalizeDim(dim, b.rank, 'tensordot')),
          ];
    const sizes = (x: Tensor, dims: readonly number[]) => dims.map((dim) => x.shape[dim]);
    const [sizesA, sizesB] = [sizes(a, ofA), sizes(b, ofB)];
    const agree = (size: number | undefined, other: number | undefined) =>
      size !== undefined && other !== undefined && (size === other || size === 1 || other === 1);
    if (ofB.length !== count || !sizesA.every((size, i) => agree(size, sizesB[i]))) {
      throw new ShapeError({
        what: "tensordot: the dimensions don't agree",
        given: `${formatSpec(a)} over ${formatShape(ofA)} and ${formatSpec(b)} over ${formatShape(ofB)}`,
        expected: 'as many dimensions of equal sizes, or of one entry in either',
        remedy: 'check the dimensions and their order',
      });
    }
    const freeA = range(0, a.rank).filter((dim) => !ofA.includes(dim));
    const freeB = range(0, b.rank).filter((dim) => !ofB.includes(dim));
    const length = (x: Tensor, dims: readonly number[]) => sizeOf(dims.map((dim) => x.shape[dim]!));
    // Sums over dimensions in which the other operand has one entry, which broadcasts.
    const summed = (x: Tensor, own: readonly number[], other: readonly (number | undefined)[]) => {
      const dims = own.filter((dim, i) => other[i] === 1 && x.shape[dim] !== 1);
      return dims.length === 0 ? x : cast(sum(x, dims, true), x.dtype);
    };
    return tidy(() => {
      const [x, y] = [summed(a, ofA, sizesB), summed(b, ofB, sizesA)];
      const left = reshape(permute(x, [...freeA, ...ofA]), [length(x, freeA), length(x, ofA)]);
      const right = reshape(permute(y, [...ofB, ...freeB]), [length(y, ofB), length(y, freeB)]);
      const shape = [...freeA.map((dim) => a.shape[dim]!), ...freeB.map((dim) => b.shape[dim]!)];
      return reshape(matmul(left, right), shape);
    });
  });
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);

/** The Kronecker product: each element of `a` times the whole of `b`. */
export function kron(a: Tensor, b: Tensor): Tensor {
  expectTensors('kron', a, b);
  const rank = Math.max(a.rank, b.rank);
  const padded = (x: Tensor) => [...new Array<number>(rank - x.rank).fill(1), ...x.shape];
  const [own, other] = [padded(a), padded(b)];
  return tidy(() => {
    const spread = (shape: readonly number[], first: boolean) =>
      shape.flatMap((size) => (first ? [size, 1] : [1, size]));
    const product = mul(reshape(a, spread(own, true)), reshape(b, spread(other, false)));
    return reshape(
      product,
      own.map((size, d) => size * other[d]!),
    );
  });
}

export interface AddProductOptions {
  /** The factor of the tensor, which is ignored if it is 0. 1 by default. */
  readonly beta?: number;
  /** The factor of the product. 1 by default. */
  readonly alpha?: number;
}

const plus =
  (name: string, product: (a: Tensor, b: Tensor) => Tensor) =>
  (x: Tensor, a: Tensor, b: Tensor, options: AddProductOptions = {}): Tensor => {
    expectTensors(name, x, a, b);
    expectOptions(name, options, { beta: anyOperand, alpha: anyOperand });
    const { beta = 1, alpha = 1 } = options;
    const combined = (addend: Tensor, left: Tensor, right: Tensor): Tensor => {
      const result = product(left, right);
      const scaled = alpha === 1 ? result : mul(result, alpha);
      if (equals(beta, 0)) return scaled;
      return add(scaled, beta === 1 ? addend : mul(addend, beta));
    };
    return naming(name, () =>
      anyHalf(x, a, b) ? roundedOnce([x, a, b], combined) : tidy(() => combined(x, a, b)),
    );
  };

/** beta · x + alpha · a·b for matrices. */
export const addmm = plus('addmm', mm);
/** beta · x + alpha · a·b for a matrix and a vector. */
export const addmv = plus('addmv', mv);
/** beta · x + alpha · the sum of products of two batches of matrices. */
export const addbmm = plus('addbmm', (a, b) => {
  const products = bmm(a, b);
  return cast(sum(products, 0), products.dtype);
});
/** beta · x + alpha · a·b for batches of matrices. */
export const baddbmm = plus('baddbmm', bmm);
/** beta · x + alpha · the outer product of two vectors. */
export const addr = plus('addr', outer);

/** out[…,o] = Σ a[…,i] · weight[o,i,j] · b[…,j], plus bias[o]. */
export function bilinear(a: Tensor, b: Tensor, weight: Tensor, bias: Tensor | null = null): Tensor {
  return naming('bilinear', () => {
    expectTensors('bilinear', a, b, weight);
    expectOptional('bilinear', bias);
    if (anyHalf(a, b, weight, bias)) return roundedOnce([a, b, weight, bias], bilinear);
    return tidy(() => {
      const product = einsum('...i,oij,...j->...o', [a, weight, b]);
      return bias ? add(product, bias) : product;
    });
  });
}

/** The cross product along `dim`, or the first dimension of size 3. Both broadcast. */
export function cross(a: Tensor, b: Tensor, dim: number | null = null): Tensor {
  expectTensors('cross', a, b);
  if (anyHalf(a, b)) return roundedOnce([a, b], (x, y) => cross(x, y, dim));
  return tidy(() => {
    const [x, y] = expandTogether('cross', a, b);
    const at = dim === null ? x.shape.indexOf(3) : normalizeDim(dim, x.rank, 'cross');
    if (x.shape[at] !== 3) {
      throw new ArgumentError({
        what: 'cross: not vectors of three entries',
        given: `${formatSpec(a)} and ${formatSpec(b)}, dimension ${dim}`,
        expected: 'a dimension of size 3',
        remedy: 'pass the dimension that holds the vectors',
      });
    }
    const entry = (operand: Tensor, i: number) => narrow(operand, at, i % 3, 1);
    const parts = [0, 1, 2].map((i) =>
      sub(mul(entry(x, i + 1), entry(y, i + 2)), mul(entry(x, i + 2), entry(y, i + 1))),
    );
    return cat(parts, at);
  });
}
