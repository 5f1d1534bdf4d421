/** Random tensors derived from uniform numbers, so that every device draws the same values. */

import { deviceGuard } from '../../device/current.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, DTypeError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { dtypes } from '../../spec/dtype.ts';
import type { Shape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { add, mul, neg } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { exp, log, tan } from '../arithmetic/functions.ts';
import { cast } from '../core/cast.ts';
import { type CreateOptions, created } from '../core/creation-options.ts';
import { floating } from '../core/promotion.ts';
import { copy_ } from '../in-place/in-place.ts';
import { checkShape } from '../movement/create.ts';
import { unsqueeze } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { difference, isBelow, isInteger, minus } from '../numbers/number-arithmetic.ts';
import { gt, lt, where } from '../pointwise/comparison.ts';
import { expectTensors, shapeOf } from '../record/expect-tensors.ts';
import {
  expectFlag,
  expectNumber,
  expectPositive,
  expectWhole,
  expectWithin,
} from '../record/positional.ts';
import { argmax } from '../reduce/extremes.ts';
import { argsort, topk } from '../reduce/order.ts';
import { rand, randn } from './drawn.ts';

/** A float32 in [0, 1) has 24 random bits. */
const most = 2 ** 24;

/** Integers in [low, high). One number of the stream per element. */
export function randint(
  low: number,
  high: number,
  shape: Shape,
  options: CreateOptions = {},
): Tensor {
  expectNumber('randint', 'low', low);
  expectNumber('randint', 'high', high);
  const range = difference(high, low);
  if (![low, high].every(isInteger) || isBelow(range, 1) || isBelow(most, range)) {
    throw new ArgumentError({
      what: 'randint: not a range of integers',
      given: `from ${low} to ${high}`,
      expected: `integers, from 1 to 2^24 of them: a random number has 24 bits`,
      remedy: 'the second bound is not included: randint(0, 10, shape) draws 0 to 9',
    });
  }
  checkShape(shape, 'randint');
  return created({ op: 'randint', options, dtype: 'int32' }, (dtype) =>
    tidy(() => cast(add(cast(mul(rand(shape), range), 'int32'), low), dtype)),
  );
}

/** Uniform in [0, 1), with shape, dtype and device of `x`; float32 for integers. */
export function randLike(x: Tensor, options: CreateOptions = {}): Tensor {
  shapeOf('randLike', x);
  const { device } = x;
  return created({ op: 'randLike', options, dtype: floating(x.dtype), device }, (dtype) =>
    rand(x.shape, { dtype }),
  );
}

/** Standard normal, with shape, dtype and device of `x`; float32 for integers. */
export function randnLike(x: Tensor, options: CreateOptions = {}): Tensor {
  shapeOf('randnLike', x);
  const { device } = x;
  return created({ op: 'randnLike', options, dtype: floating(x.dtype), device }, (dtype) =>
    randn(x.shape, { dtype }),
  );
}

/** Overwrites `x` with uniform numbers in [low, high). One number of the stream per element. */
export function uniform_(x: Tensor, low = 0, high = 1): Tensor {
  expectNumber('uniform_', 'low', low);
  expectWithin('uniform_', 'high', high, low);
  return tidy(() => copy_(x, add(mul(drawnFor('uniform_', x, rand), minus(high, low)), low)));
}

/** Overwrites `x` with normally distributed numbers. One number of the stream per element. */
export function normal_(x: Tensor, center = 0, deviation = 1): Tensor {
  expectWithin('normal_', 'deviation', deviation);
  return tidy(() => copy_(x, add(mul(drawnFor('normal_', x, randn), deviation), center)));
}

/** Overwrites `x` with exponentially distributed numbers. One number of the stream per element. */
export function exponential_(x: Tensor, rate = 1): Tensor {
  expectPositive('exponential_', 'rate', rate);
  return tidy(() => copy_(x, div(neg(log(add(neg(drawnFor('exponential_', x, rand)), 1))), rate)));
}

/** Overwrites `x` with log-normal numbers. One number of the stream per element. */
export function logNormal_(x: Tensor, center = 1, deviation = 2): Tensor {
  expectPositive('logNormal_', 'deviation', deviation);
  return tidy(() => copy_(x, exp(add(mul(drawnFor('logNormal_', x, randn), deviation), center))));
}

/** Overwrites `x` with Cauchy-distributed numbers. One number of the stream per element. */
export function cauchy_(x: Tensor, center = 0, scale = 1): Tensor {
  expectPositive('cauchy_', 'scale', scale);
  return tidy(() => {
    const angle = mul(add(drawnFor('cauchy_', x, rand), -0.5), Math.PI);
    return copy_(x, add(mul(tan(angle), scale), center));
  });
}

/** Overwrites `x` with 1 with the given probability, else 0. One number of the stream per element. */
export function bernoulli_(x: Tensor, probability: number | Tensor = 0.5): Tensor {
  if (!(probability instanceof Tensor))
    expectWithin('bernoulli_', 'probability', probability, 0, 1);
  return tidy(() => {
    const drawn = deviceGuard(x.device, () => rand(x.shape));
    return copy_(x, cast(lt(drawn, probability), x.dtype));
  });
}

/** Overwrites `x` with integers in [low, high). One number of the stream per element. */
export function random_(x: Tensor, low: number, high: number): Tensor {
  const drawn = () => deviceGuard(x.device, () => randint(low, high, x.shape, { dtype: x.dtype }));
  return tidy(() => copy_(x, naming('random_', drawn)));
}

/** Normal numbers with a mean and a deviation. One number of the stream per element. */
export function normal(
  center: number,
  deviation: number,
  shape: Shape,
  options: CreateOptions = {},
): Tensor {
  expectNumber('normal', 'center', center);
  expectWithin('normal', 'deviation', deviation);
  checkShape(shape, 'normal');
  return created({ op: 'normal', options, dtype: 'float32' }, (dtype) =>
    tidy(() => add(mul(randn(shape, { dtype }), deviation), center)),
  );
}

function drawnFor(name: string, x: Tensor, draw: typeof rand): Tensor {
  if (dtypes[x.dtype].floating)
    return deviceGuard(x.device, () => draw(x.shape, { dtype: x.dtype }));
  throw new DTypeError({
    what: `${name}: random numbers between integers`,
    given: formatSpec(x),
    expected: 'a floating-point tensor',
    remedy: 'use randint(low, high, shape)',
  });
}

/** 1 with the probability given by each element, else 0. One number of the stream per element. */
export function bernoulli(probabilities: Tensor): Tensor {
  expectTensors('bernoulli', probabilities);
  return tidy(() =>
    cast(lt(randLike(probabilities), probabilities), floating(probabilities.dtype)),
  );
}

/** A random permutation of 0 to n − 1, int32: the order that sorts n numbers of the stream. */
export function randperm(n: number, options: CreateOptions = {}): Tensor {
  expectWhole('randperm', 'n', n);
  expectWithin('randperm', 'n', n);
  return created({ op: 'randperm', options, dtype: 'int32' }, (dtype) =>
    tidy(() => cast(argsort(rand([n])), dtype)),
  );
}

/**
 * Indices drawn with the weights of each row [n] or [rows, n], which need not sum to 1; int32 [draws] or [rows, draws].
 * A race of exponential clocks, which draws one number of the stream per weight; with replacement, one per weight and
 * draw.
 */
export function multinomial(weights: Tensor, draws: number, replacement = false): Tensor<'int32'> {
  expectTensors('multinomial', weights);
  expectNumber('multinomial', 'draws', draws);
  expectFlag('multinomial', 'replacement', replacement);
  const classes = weights.shape.at(-1) ?? 0;
  if (weights.rank < 1 || weights.rank > 2 || classes === 0) {
    throw new ShapeError({
      what: 'multinomial: nothing to choose from',
      given: formatSpec(weights),
      expected: 'weights [n] or [rows, n]',
      remedy: 'flatten the leading dimensions',
    });
  }
  if (!Number.isInteger(draws) || draws < 1 || (!replacement && draws > classes)) {
    throw new ArgumentError({
      what: 'multinomial: not a number of draws',
      given: `${draws} of ${classes}${replacement ? ' with replacement' : ''}`,
      expected: replacement ? 'an integer from 1 on' : `an integer from 1 to ${classes}`,
      remedy: 'pass true for replacement to draw an entry more than once',
    });
  }
  return tidy(() => {
    if (!replacement) return topk(arrivals(weights, weights.shape), draws)[1];
    const shape = [...weights.shape.slice(0, -1), draws, classes];
    return argmax(arrivals(unsqueeze(weights, -2), shape), -1) as Tensor<'int32'>;
  });
}

/** Returns larger values for clocks of that weight that ring sooner; a clock of weight 0 never rings. */
function arrivals(weights: Tensor, shape: Shape): Tensor {
  const uniform = deviceGuard(weights.device, () =>
    rand(shape, { dtype: floating(weights.dtype) }),
  );
  const time = neg(log(add(neg(uniform), 1)));
  return where(gt(weights, 0), div(weights, time), fullLike(weights, -1, { shape: [] }));
}
