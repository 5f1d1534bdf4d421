/** PyTorch functions composed of a few other ops. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { anyOperand, aTensor, flag, orNull } from '../../options/option-kinds.ts';
import { dtypes } from '../../spec/dtype.ts';
import { formatShape, type Shape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { tensorSplit } from '../arranging/splitting.ts';
import { cast } from '../core/cast.ts';
import { floating, type Operand } from '../core/promotion.ts';
import { flatten, reshape, unsqueeze } from '../movement/movement.ts';
import { diag, matrixTranspose, t } from '../movement/views.ts';
import { clamp, clampMin } from '../pointwise/combining.ts';
import { eq, where } from '../pointwise/comparison.ts';
import { sqrt } from '../pointwise/powers.ts';
import { expectTensors, shapeOf } from '../record/expect-tensors.ts';
import { mean, sum } from '../reduce/reduce.ts';
import { any } from '../reduce/statistics.ts';
import { matmul } from './matmul.ts';

/** Flattens to one dimension; a view if the strides allow it. */
export const ravel = (x: Tensor): Tensor => flatten(x);

/** Returns `x` in the shape of another tensor, copied if no view is possible. */
export const reshapeAs = (x: Tensor, other: Tensor): Tensor =>
  reshape(x, shapeOf('reshapeAs', other));

/** Swaps the last two dimensions; there are no complex numbers to conjugate. */
export const adjoint = (x: Tensor): Tensor => matrixTranspose(x);

/** Splits along dimension 1, or dimension 0 of a vector, into a number of pieces or at indices. */
export const hsplit = (x: Tensor, parts: number | readonly number[]): Tensor[] =>
  tensorSplit(x, parts, shapeOf('hsplit', x).length === 1 ? 0 : 1);
/** Splits along dimension 0. */
export const vsplit = (x: Tensor, parts: number | readonly number[]): Tensor[] =>
  tensorSplit(x, parts, 0);
/** Splits along dimension 2. */
export const dsplit = (x: Tensor, parts: number | readonly number[]): Tensor[] =>
  tensorSplit(x, parts, 2);

/** Sums to a shape that broadcasts to `x`. Throws ShapeError for any other shape. */
export function sumToSize(x: Tensor, shape: Shape): Tensor {
  const lead = x.rank - shape.length;
  const fits = lead >= 0 && shape.every((size, i) => size === 1 || size === x.shape[lead + i]);
  if (fits) {
    const broadcast = x.shape.flatMap((size, i) =>
      i >= lead && shape[i - lead] === 1 && size !== 1 ? [i] : [],
    );
    const dims = [...Array.from({ length: lead }, (_, i) => i), ...broadcast];
    return dims.length > 0 ? tidy(() => reshape(sum(x, dims), shape)) : x;
  }
  throw new ShapeError({
    what: 'sumToSize: not a shape that broadcasts to the tensor',
    given: `${formatShape(shape)} for ${formatSpec(x)}`,
    expected: 'trailing dimensions of the tensor, some of them 1',
    remedy: 'use sum(dims, { keepDim: true })',
  });
}

/** Elements of `x` where `test` is true, else of `other`. */
export const whereElse = (x: Tensor, test: Tensor, other: Operand): Tensor => where(test, x, other);

/** Whether each element occurs in `test`. */
export function isin(x: Tensor, test: Tensor, options: { readonly invert?: boolean } = {}): Tensor {
  expectTensors('isin', x, test);
  expectOptions('isin', options, { invert: flag });
  return tidy(() => {
    const found = any(eq(unsqueeze(x, -1), flatten(test)), -1);
    return options.invert ? eq(found, 0) : found;
  });
}

export interface CovOptions {
  /** 1, the default, divides by n − 1. */
  readonly correction?: number;
  /** int32 [observations]: how often each observation counts. */
  readonly fweights?: Tensor | null;
  /** [observations]: the relative importance of each observation. */
  readonly aweights?: Tensor | null;
}

const covOptions = { correction: anyOperand, fweights: orNull(aTensor), aweights: orNull(aTensor) };

/** The covariance matrix of the rows of [variables, observations]; of a single row, its variance as a scalar. */
export function cov(x: Tensor, options: CovOptions = {}): Tensor {
  return naming('cov', () => {
    expectTensors('cov', x);
    expectOptions('cov', options, covOptions);
    const { correction = 1, fweights = null, aweights = null } = options;
    if (x.rank > 2) {
      throw new ShapeError({
        what: 'cov: more than two dimensions',
        given: formatSpec(x),
        expected: '[variables, observations] or [observations]',
        remedy: 'select one matrix',
      });
    }
    return tidy(() => {
      expectWeights('fweights', fweights, x);
      expectWeights('aweights', aweights, x);
      const rows = cast(x.rank === 2 ? x : reshape(x, [1, x.numel()]), floating(x.dtype));
      const products = fweights || aweights ? weighedProducts : plainProducts;
      const matrix = products(rows, correction, fweights, aweights);
      return matrix.numel() === 1 ? reshape(matrix, []) : matrix;
    });
  });
}

function expectWeights(option: 'fweights' | 'aweights', weights: Tensor | null, x: Tensor): void {
  if (!weights) return;
  const observations = x.rank === 0 ? 1 : x.shape.at(-1)!;
  const fits = weights.rank <= 1 && weights.numel() === observations;
  const isCount = option === 'fweights';
  if (fits && (!isCount || !dtypes[weights.dtype].floating)) return;
  throw new ShapeError({
    what: `cov: ${option} that don't fit`,
    given: `${option} ${formatSpec(weights)} for ${formatSpec(x)}`,
    expected: `${isCount ? 'integers ' : ''}[${observations}]`,
    remedy: isCount ? 'pass relative weights as aweights' : 'pass one weight per observation',
  });
}

function plainProducts(rows: Tensor, correction: number): Tensor {
  const centered = sub(rows, mean(rows, 1, { keepDim: true }));
  const observations = rows.shape[1]!;
  return div(matmul(centered, t(centered)), Math.max(observations - correction, 0));
}

function weighedProducts(
  rows: Tensor,
  correction: number,
  fweights: Tensor | null,
  aweights: Tensor | null,
): Tensor {
  const counts = fweights && cast(fweights, rows.dtype);
  const weights = counts && aweights ? mul(counts, aweights) : (counts ?? aweights)!;
  const total = sum(weights);
  const centered = sub(rows, div(sum(mul(rows, weights), 1, { keepDim: true }), total));
  const products = matmul(centered, t(mul(centered, weights)));
  const lost = aweights ? mul(div(sum(mul(weights, aweights)), total), correction) : correction;
  return div(products, clampMin(sub(total, lost), 0));
}

/** The Pearson correlation matrix of the rows of [variables, observations]. */
export function corrcoef(x: Tensor): Tensor {
  return naming('corrcoef', () => {
    expectTensors('corrcoef', x);
    return tidy(() => {
      const covariance = cov(x);
      if (covariance.rank === 0) return div(covariance, covariance);
      const deviation = sqrt(diag(covariance));
      const scaled = div(div(covariance, unsqueeze(deviation, 1)), unsqueeze(deviation, 0));
      return clamp(scaled, -1, 1);
    });
  });
}
