/** Pseudoinverses, ranks and least squares. */

import * as singularValuesKernels from '../../device/cpu/scalar/singular-values.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { flag, nonNegativeNumber, orNull } from '../../options/option-kinds.ts';
import type { DType } from '../../spec/dtype.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { abs, add, mul, neg, sub } from '../arithmetic/arithmetic.ts';
import { bindFloat } from '../core/promotion.ts';
import { squeeze, transpose, unsqueeze } from '../movement/movement.ts';
import { clampMin } from '../pointwise/combining.ts';
import { gt } from '../pointwise/comparison.ts';
import { matmul } from '../products/matmul.ts';
import { defineOp, expectTensor, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { amax } from '../reduce/extremes.ts';
import { sum } from '../reduce/reduce.ts';
import { svdvals } from './singular-values.ts';
import { expectMatrices } from './square-matrices.ts';
import { eigvalsh } from './symmetric-eigen.ts';

const mT = (x: Tensor): Tensor => transpose(x, -1, -2);

export const pseudoinverseOp = defineOp({
  name: 'pseudoinverse',
  operands: { x: 'data' },
  dtypes: { x: 'floating' },
  attrs: { rtol: 'number', atol: 'number' },
  infer: ([x]) => {
    expectMatrices('pinv', x!);
    const [m, n] = x!.shape.slice(-2) as [number, number];
    return { dtype: x!.dtype, shape: [...x!.shape.slice(0, -2), n, m] };
  },
  kernel: named('pseudoinverse', singularValuesKernels.pseudoinverse),
  vjp: {
    // Golub and Pereyra (1973), for matrices of constant rank.
    x: saving({ x: 'value', out: 'value' }, ({ x, out }, dy) => {
      const inverted = mT(out);
      const change = mT(dy);
      const own = neg(matmul(inverted, matmul(dy, inverted)));
      const around = matmul(matmul(inverted, out), sub(change, matmul(matmul(change, out), x)));
      const along = matmul(sub(change, matmul(x, matmul(out, change))), matmul(out, inverted));
      return add(add(own, around), along);
    }),
  },
});

export interface RankOptions {
  /** Singular values of at most `rtol` times the largest, or of at most `atol`, count as 0. */
  readonly rtol?: number | null;
  readonly atol?: number | null;
}

const rankKinds = { rtol: orNull(nonNegativeNumber), atol: orNull(nonNegativeNumber) };

const epsilonOf = (dtype: DType): number => (dtype === 'float64' ? 2 ** -52 : 2 ** -23);

/**
 * PyTorch's default tolerance, relative to the largest singular value, applies if neither is given or the absolute one
 * is 0.
 */
function tolerances(x: TensorMeta, { rtol = null, atol = null }: RankOptions) {
  const size = Math.max(...x.shape.slice(-2));
  const usual = size * epsilonOf(x.dtype);
  return { rtol: rtol ?? ((atol ?? 0) > 0 ? 0 : usual), atol: atol ?? 0 };
}

/**
 * The Moore-Penrose pseudoinverse of matrices [.., m, n]: [.., n, m]. Computed in float64; integers become float32. The
 * gradient assumes that the rank doesn't change.
 */
export function pinv(x: Tensor, options: RankOptions = {}): Tensor {
  return naming('pinv', () => {
    expectTensor(pseudoinverseOp, x);
    expectOptions('pinv', options, rankKinds);
    expectMatrices('pinv', x);
    return bindFloat(pseudoinverseOp, x, tolerances(x, options));
  });
}

export interface MatrixRankOptions extends RankOptions {
  /** Whether the matrices are symmetric; then eigenvalues are used instead of singular values. */
  readonly hermitian?: boolean;
}

/** The number of singular values above the tolerance, int32 [..], for matrices [.., m, n]. */
export function matrixRank(x: Tensor, options: MatrixRankOptions = {}): Tensor {
  return naming('matrixRank', () => {
    expectTensors('matrixRank', x);
    expectOptions('matrixRank', options, { ...rankKinds, hermitian: flag });
    const { hermitian = false, ...tolerance } = options;
    expectMatrices('matrixRank', x);
    return tidy(() => {
      const values = hermitian ? abs(eigvalsh(x)) : svdvals(x);
      return countAbove(values, tolerances(x, tolerance));
    });
  });
}

/** Counts the values above the larger tolerance, along the last dimension. */
function countAbove(values: Tensor, { rtol, atol }: { rtol: number; atol: number }): Tensor {
  if (values.shape.at(-1) === 0) return sum(gt(values, 0), -1);
  const least = clampMin(mul(amax(values, -1, { keepDim: true }), rtol), atol);
  return sum(gt(values, least), -1);
}

export interface LstsqOptions {
  /** Singular values of at most this times the largest count as 0. */
  readonly rcond?: number | null;
}

type LeastSquares = [solution: Tensor, residuals: Tensor, rank: Tensor, singularValues: Tensor];

/**
 * `[X, residuals, rank, singular values]`, where X [.., n, k] is the minimizer of ‖a·X − b‖ with the smallest norm, for
 * matrices [.., m, n] and right-hand sides [.., m, k], or [.., m] for one right-hand side of a single matrix. The
 * residuals [.., k] are sums of squared errors. Computed by the pseudoinverse, so a may have any rank.
 */
export function lstsq(a: Tensor, b: Tensor, options: LstsqOptions = {}): LeastSquares {
  return naming('lstsq', () => {
    expectTensors('lstsq', a, b);
    expectOptions('lstsq', options, { rcond: orNull(nonNegativeNumber) });
    expectMatrices('lstsq', a);
    const isVector = b.rank === 1 && a.rank === 2;
    if (b.shape.at(isVector ? -1 : -2) !== a.shape.at(-2)) {
      throw new ShapeError({
        what: "lstsq: the right sides don't fit the matrices",
        given: `${formatSpec(a)} and ${formatSpec(b)}`,
        expected: '[…, m, n] and […, m, k] with the same m',
        remedy: 'transpose the right sides (b.mT), or unsqueeze(-1) a vector',
      });
    }
    return tidy(() => {
      const rankOptions: RankOptions = { rtol: options.rcond ?? null };
      const sides = isVector ? unsqueeze(b, -1) : b;
      const solution = matmul(pinv(a, rankOptions), sides);
      const errors = sub(matmul(a, solution), sides);
      const singularValues = svdvals(a);
      const one = (x: Tensor) => (isVector ? squeeze(x, -1) : x);
      const rank = countAbove(singularValues, tolerances(a, rankOptions));
      return [one(solution), one(sum(mul(errors, errors), -2)), rank, singularValues];
    });
  });
}
