/** Distances and similarities of vectors. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { anyOperand, flag, judgedLater } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { unsqueeze } from '../movement/movement.ts';
import { expandTogether } from '../movement/views.ts';
import { isBelow } from '../numbers/number-arithmetic.ts';
import { clampMin } from '../pointwise/combining.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { type Dims, sum } from '../reduce/reduce.ts';
import { vectorNorm } from '../reduce/statistics.ts';

export interface NormalizeOptions {
  /** 2 by default. */
  readonly p?: number;
  /** 1 by default. */
  readonly dim?: Dims;
  /** The lower bound of the norm. */
  readonly eps?: number;
}

/** Divides by the p-norm along `dim`. */
export function normalize(x: Tensor, options: NormalizeOptions = {}): Tensor {
  expectTensors('normalize', x);
  expectOptions('normalize', options, { p: judgedLater, dim: judgedLater, eps: anyOperand });
  if (anyHalf(x)) return roundedOnce([x], (converted) => normalize(converted, options));
  const { p = 2, dim = 1, eps = 1e-12 } = options;
  return naming('normalize', () =>
    tidy(() => div(x, clampMin(vectorNorm(x, p, dim, { keepDim: true }), eps))),
  );
}

/** The cosine of the angle between vectors along `dim`; both broadcast. */
export function cosineSimilarity(a: Tensor, b: Tensor, dim = 1, eps = 1e-8): Tensor {
  expectTensors('cosineSimilarity', a, b);
  if (anyHalf(a, b)) return roundedOnce([a, b], (x, y) => cosineSimilarity(x, y, dim, eps));
  const cosines = () => {
    const [x, y] = expandTogether('cosineSimilarity', a, b);
    return sum(mul(normalize(x, { dim, eps }), normalize(y, { dim, eps })), dim);
  };
  return tidy(() => naming('cosineSimilarity', cosines));
}

export interface PairwiseDistanceOptions {
  /** The norm, 2 by default. */
  readonly p?: number;
  /** Added to each difference, to keep the derivative finite at distance 0. */
  readonly eps?: number;
  /** Whether the last dimension is kept, with size 1; false by default. */
  readonly keepDim?: boolean;
}

/** The p-norm of a − b along the last dimension. */
export function pairwiseDistance(
  a: Tensor,
  b: Tensor,
  options: PairwiseDistanceOptions = {},
): Tensor {
  return naming('pairwiseDistance', () => {
    expectTensors('pairwiseDistance', a, b);
    expectOptions('pairwiseDistance', options, { p: judgedLater, eps: anyOperand, keepDim: flag });
    const { p = 2, eps = 1e-6, keepDim = false } = options;
    if (anyHalf(a, b))
      return roundedOnce([a, b], (x, y) => pairwiseDistance(x, y, { p, eps, keepDim }));
    return tidy(() => vectorNorm(add(sub(a, b), eps), p, -1, { keepDim }));
  });
}

/** The p-norm distance between each row of a […,n,k] and each row of b […,m,k]: […,n,m]. */
export function cdist(a: Tensor, b: Tensor, p = 2): Tensor {
  expectTensors('cdist', a, b);
  expectNumber('cdist', 'p', p);
  if (a.rank < 2 || b.rank < 2 || a.shape.at(-1) !== b.shape.at(-1) || isBelow(p, 0)) {
    throw new ShapeError({
      what: "cdist: the rows don't fit",
      given: `${formatSpec(a)} and ${formatSpec(b)}, p ${p}`,
      expected: '[…, n, k] and […, m, k], and p from 0 on',
      remedy: 'check the last dimension',
    });
  }
  if (anyHalf(a, b)) return roundedOnce([a, b], (x, y) => cdist(x, y, p));
  return tidy(() => {
    const gaps = sub(unsqueeze(a, -2), unsqueeze(b, -3));
    // The norm of an empty vector is 0.
    return gaps.shape.at(-1) === 0 ? sum(gaps, -1) : vectorNorm(gaps, p, -1);
  });
}
