/** Losses of class scores, and the mean squared error. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, DTypeError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { dtypes } from '../../spec/dtype.ts';
import { sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, neg, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { cast } from '../core/cast.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { gather } from '../indexing/gather.ts';
import { indexSelect } from '../indexing/indexing.ts';
import { reshape, unsqueeze } from '../movement/movement.ts';
import { movedim } from '../movement/views.ts';
import { expectFloat, logSoftmax, meanOfLabels } from '../normalization/softmax.ts';
import { equals, isAtMost, minus, quotient } from '../numbers/number-arithmetic.ts';
import { dropWhere, eq, maskedFill, ne } from '../pointwise/comparison.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { mean, sum } from '../reduce/reduce.ts';
import { expectReduction, type LossOptions, reduced } from '../reduce/reduction-options.ts';
import { crossEntropyKinds, lossKinds, nllKinds } from './loss-kinds.ts';
import { warnOfSizes } from './unequal-sizes.ts';

export interface NllOptions extends LossOptions {
  /** The factor of each class, [classes]. */
  readonly weight?: Tensor | null;
  /** The label that is ignored: it has no loss and doesn't count in the mean. −100 by default. */
  readonly ignoreIndex?: number;
}

export interface CrossEntropyOptions extends NllOptions {
  /** The fraction of the target that is spread evenly over the classes. */
  readonly labelSmoothing?: number;
}

/** The label that kernels exclude from the mean. */
const ignoredByKernel = -100;

/** Scores as [samples, classes] and labels as [samples], from [n, classes, …] and [n, …]. */
interface Flat {
  readonly rows: Tensor;
  readonly labels: Tensor;
}

function flattened(name: string, scores: Tensor, target: Tensor): Flat {
  const classAt = scores.rank === 1 ? 0 : 1;
  const others = scores.shape.filter((_, d) => d !== classAt);
  if (target.dtype !== 'int32' && target.dtype !== 'uint8') {
    throw new DTypeError({
      what: `${name}: class labels must be integers`,
      given: formatSpec(target),
      expected: 'int32 or uint8, one label per sample',
      remedy: "cast the labels: target.to('int32')",
    });
  }
  if (scores.rank === 0 || !sameShape(others, target.shape)) {
    throw new ShapeError({
      what: `${name}: scores and labels don't fit`,
      given: `${formatSpec(scores)} and ${formatSpec(target)}`,
      expected: '[n, classes, …] with int32 [n, …], or [classes] with one label',
      remedy: sameShape(scores.shape, target.shape)
        ? "labels are numbers of classes: target.argmax(1); crossEntropy also takes probabilities: target.to('float32')"
        : 'check the order of the dimensions: classes are dimension 1',
    });
  }
  const classes = scores.shape[classAt]!;
  const last = scores.rank < 3 ? scores : movedim(scores, 1, -1);
  return {
    rows: reshape(last, [target.numel(), classes]),
    labels: reshape(cast(target, 'int32'), [target.numel()]),
  };
}

/** Losses per sample (zero for ignored labels), and the weight of each. */
interface WeightedLosses {
  readonly losses: Tensor;
  readonly weights: Tensor;
}

function weighed(
  { rows, labels }: Flat,
  weight: Tensor | null,
  ignoreIndex: number,
): WeightedLosses {
  const ignored = eq(labels, ignoreIndex);
  const known = maskedFill(labels, ignored, 0);
  const chosen = reshape(gather(rows, 1, unsqueeze(known, 1)), labels.shape);
  const weights = weight
    ? dropWhere(indexSelect(weight, 0, known), ignored)
    : cast(ne(labels, ignoreIndex), rows.dtype);
  const losses = neg(dropWhere(weight ? mul(chosen, weights) : chosen, ignored));
  return { losses, weights: weights };
}

function expectWeight(name: string, scores: Tensor, weight: Tensor | null): void {
  const classes = scores.shape[scores.rank === 1 ? 0 : 1];
  if (!weight || (weight.rank === 1 && weight.numel() === classes)) return;
  throw new ShapeError({
    what: `${name}: not one weight per class`,
    given: `${formatSpec(weight)} for ${classes} classes`,
    expected: `[${classes}]`,
    remedy: 'pass a factor for each class',
  });
}

/** −logProbs of each label times its class weight: [n, classes, …] and int32 [n, …]. */
export function nllLoss(logProbs: Tensor, target: Tensor, options: NllOptions = {}): Tensor {
  expectTensors('nllLoss', logProbs, target);
  expectOptions('nllLoss', options, nllKinds);
  return ofLabels('nllLoss', logProbs, target, options);
}

/** `nllLoss` for the function that the user called, which errors name. */
function ofLabels(name: string, logProbs: Tensor, target: Tensor, options: NllOptions): Tensor {
  const { weight = null, ignoreIndex = ignoredByKernel, reduction = 'mean' } = options;
  expectReduction(name, reduction);
  const simple = reduction === 'mean' && !weight && equals(ignoreIndex, ignoredByKernel);
  const fits = logProbs.rank === 2 && target.rank === 1 && logProbs.shape[0] === target.shape[0];
  if (simple && fits && target.dtype === 'int32') return meanOfLabels(logProbs, target);
  expectWeight(name, logProbs, weight);
  if (anyHalf(logProbs, weight)) {
    return roundedOnce(
      [logProbs, weight],
      (converted, w) => ofLabels(name, converted, target, { ...options, weight: w }),
      logProbs.dtype,
    );
  }
  return tidy(() => {
    const flat = flattened(name, logProbs, target);
    if (simple && target.numel() > 0) return meanOfLabels(flat.rows, flat.labels);
    const { losses, weights } = weighed(flat, weight, ignoreIndex);
    if (reduction === 'none') return reshape(losses, target.shape);
    return reduction === 'sum' ? sum(losses) : div(sum(losses), sum(weights));
  });
}

/**
 * Cross entropy of raw scores [n, classes, …] with class labels int32 [n, …] or probabilities shaped like the
 * scores; also [classes] with one label.
 */
export function crossEntropy(
  scores: Tensor,
  target: Tensor,
  options: CrossEntropyOptions = {},
): Tensor {
  return naming('crossEntropy', () => {
    expectTensors('crossEntropy', scores, target);
    expectOptions('crossEntropy', options, crossEntropyKinds);
    const { labelSmoothing = 0, weight = null } = options;
    expectReduction('crossEntropy', options.reduction ?? 'mean');
    expectFloat('crossEntropy', scores);
    if (!(isAtMost(0, labelSmoothing) && isAtMost(labelSmoothing, 1))) {
      throw new ArgumentError({
        what: 'crossEntropy: labelSmoothing out of range',
        given: `labelSmoothing ${labelSmoothing}`,
        expected: 'a number from 0 to 1',
        remedy: '0.1 is usual',
      });
    }
    expectWeight('crossEntropy', scores, weight);
    if (anyHalf(scores, target, weight)) {
      return roundedOnce(
        [scores, target, weight],
        (a, b, w) => crossEntropy(a, b, { ...options, weight: w }),
        scores.dtype,
      );
    }
    const ofProbabilities = dtypes[target.dtype].floating && sameShape(scores.shape, target.shape);
    return tidy(() => {
      const logProbs = logSoftmax(scores, scores.rank === 1 ? 0 : 1);
      if (ofProbabilities) return ofDistributions(logProbs, target, options);
      if (equals(labelSmoothing, 0)) {
        const { labelSmoothing: _, ...rest } = options;
        return ofLabels('crossEntropy', logProbs, target, rest);
      }
      return smoothed(logProbs, target, options);
    });
  });
}

/** −Σ target · weight · logProbs over the classes. */
function ofDistributions(
  logProbs: Tensor,
  target: Tensor,
  { weight = null, labelSmoothing = 0, reduction = 'mean' }: CrossEntropyOptions,
): Tensor {
  const classAt = logProbs.rank === 1 ? 0 : 1;
  const classes = logProbs.shape[classAt]!;
  const smoothedTarget = equals(labelSmoothing, 0)
    ? target
    : add(mul(target, minus(1, labelSmoothing)), quotient(labelSmoothing, classes));
  const perClass = mul(logProbs, smoothedTarget);
  const scaled = weight ? mul(perClass, alongClasses(weight, logProbs.rank)) : perClass;
  const losses = neg(sum(scaled, classAt));
  return reduced('crossEntropy', losses, { reduction });
}

const alongClasses = (weight: Tensor, rank: number): Tensor =>
  rank < 3 ? weight : reshape(weight, [weight.numel(), ...new Array<number>(rank - 2).fill(1)]);

/** Mixes the label's loss and the mean loss of all classes. */
function smoothed(
  logProbs: Tensor,
  target: Tensor,
  {
    weight = null,
    ignoreIndex = ignoredByKernel,
    labelSmoothing = 0,
    reduction = 'mean',
  }: CrossEntropyOptions,
): Tensor {
  const flat = flattened('crossEntropy', logProbs, target);
  const { losses, weights } = weighed(flat, weight, ignoreIndex);
  const all = neg(sum(weight ? mul(flat.rows, weight) : flat.rows, 1));
  const spread = dropWhere(all, eq(flat.labels, ignoreIndex));
  const classes = flat.rows.shape[1]!;
  const mixed = add(
    mul(losses, minus(1, labelSmoothing)),
    mul(spread, quotient(labelSmoothing, classes)),
  );
  if (reduction === 'none') return reshape(mixed, target.shape);
  return reduction === 'sum' ? sum(mixed) : div(sum(mixed), sum(weights));
}

/** (x − target)² */
export function mseLoss(x: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  return naming('mseLoss', () => {
    expectTensors('mseLoss', x, target);
    expectOptions('mseLoss', options, lossKinds);
    warnOfSizes('mseLoss', x, target);
    if (anyHalf(x, target)) return roundedOnce([x, target], (a, b) => mseLoss(a, b, options));
    return tidy(() => {
      const difference = sub(x, target);
      const losses = mul(difference, difference);
      return options.reduction ? reduced('mseLoss', losses, options) : mean(losses);
    });
  });
}
