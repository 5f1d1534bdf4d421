/** Continuous distributions of positive numbers that are drawn by inverting their distribution functions. */

import { expand } from '../ops/core/broadcast.ts';
import { fullLike } from '../ops/movement/ranges.ts';
import {
  add,
  clampMax,
  div,
  exp,
  expm1,
  ge,
  le,
  lgamma,
  log,
  log1p,
  mul,
  neg,
  type Operand,
  pow,
  reciprocal,
  rsub,
  square,
  sub,
  where,
} from '../ops/pointwise/pointwise.ts';
import { positive } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Distribution, epsilonOf, parameter, parametersOf, uniformFor } from './distribution.ts';

/** Draws from the exponential distribution with rate 1; above 0, since the logarithm of 0 is infinite. */
function waitsFor(x: Tensor, shape: Shape): Tensor {
  const uniform = uniformFor(x, shape);
  return neg(log1p(neg(clampMax(uniform, 1 - epsilonOf(uniform) / 2))));
}

const rateKinds = { rate: parameter(positive) };

/** The exponential distribution: the time until an event that happens `rate` times per unit. */
export class Exponential extends Distribution {
  readonly rate: Tensor;

  constructor(rate: Operand, ...surplus: []) {
    const [checked] = tidy(() => parametersOf('Exponential', { rate }, rateKinds));
    super(checked!.shape, [], ...surplus);
    this.rate = checked!;
  }

  override get mean(): Tensor {
    return reciprocal(this.rate);
  }

  override get mode(): Tensor {
    return fullLike(this.rate, 0);
  }

  override get stddev(): Tensor {
    return reciprocal(this.rate);
  }

  override get variance(): Tensor {
    return pow(this.rate, -2);
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => sub(log(this.rate), mul(this.rate, value)));
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => rsub(exp(neg(mul(this.rate, value))), 1));
  }

  override icdf(probability: Tensor): Tensor {
    return tidy(() => neg(div(log1p(neg(probability)), this.rate)));
  }

  override entropy(): Tensor {
    return tidy(() => rsub(log(this.rate), 1));
  }

  override expand(batchShape: Shape): Exponential {
    return new Exponential(expand(this.rate, batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Exponential)) return null;
    return tidy(() => {
      const ratio = div(other.rate, this.rate);
      return sub(sub(ratio, log(ratio)), 1);
    });
  }

  protected override draw(shape: Shape): Tensor {
    return div(waitsFor(this.rate, this.extended(shape)), this.rate);
  }
}

const weibullKinds = { scale: parameter(positive), concentration: parameter(positive) };

/** The Weibull distribution of times to failure. */
export class Weibull extends Distribution {
  readonly scale: Tensor;
  readonly concentration: Tensor;

  constructor(scale: Operand, concentration: Operand, ...surplus: []) {
    const [width, power] = tidy(() =>
      parametersOf('Weibull', { scale, concentration }, weibullKinds),
    );
    super(width!.shape, [], ...surplus);
    this.scale = width!;
    this.concentration = power!;
  }

  override get mean(): Tensor {
    return tidy(() => mul(this.scale, this.moment(1)));
  }

  override get mode(): Tensor {
    const { scale, concentration } = this;
    return tidy(() =>
      mul(scale, pow(div(sub(concentration, 1), concentration), reciprocal(concentration))),
    );
  }

  override get variance(): Tensor {
    return tidy(() => mul(square(this.scale), sub(this.moment(2), square(this.moment(1)))));
  }

  override logProb(value: Tensor): Tensor {
    const { scale, concentration } = this;
    return tidy(() => {
      const ratio = div(value, scale);
      const powers = mul(sub(concentration, 1), log(ratio));
      return sub(add(log(div(concentration, scale)), powers), pow(ratio, concentration));
    });
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => neg(expm1(neg(pow(div(value, this.scale), this.concentration)))));
  }

  override icdf(probability: Tensor): Tensor {
    const { scale, concentration } = this;
    return tidy(() => mul(scale, pow(neg(log1p(neg(probability))), reciprocal(concentration))));
  }

  override entropy(): Tensor {
    const { scale, concentration } = this;
    return tidy(() => {
      const share = mul(rsub(reciprocal(concentration), 1), euler);
      return add(add(share, log(div(scale, concentration))), 1);
    });
  }

  override expand(batchShape: Shape): Weibull {
    return new Weibull(expand(this.scale, batchShape), expand(this.concentration, batchShape));
  }

  /** Returns the mean of a power at scale 1. */
  protected moment(power: number): Tensor {
    return exp(lgamma(add(mul(reciprocal(this.concentration), power), 1)));
  }

  protected override draw(shape: Shape): Tensor {
    const waits = waitsFor(this.scale, this.extended(shape));
    return mul(this.scale, pow(waits, reciprocal(this.concentration)));
  }
}

/** Euler's constant γ. */
const euler = 0.5772156649015329;

const paretoKinds = { scale: parameter(positive), alpha: parameter(positive) };

/** The Pareto distribution of values from `scale` on. */
export class Pareto extends Distribution {
  readonly scale: Tensor;
  readonly alpha: Tensor;

  constructor(scale: Operand, alpha: Operand, ...surplus: []) {
    const [least, power] = tidy(() => parametersOf('Pareto', { scale, alpha }, paretoKinds));
    super(least!.shape, [], ...surplus);
    this.scale = least!;
    this.alpha = power!;
  }

  /** Infinite for alpha up to 1. */
  override get mean(): Tensor {
    const { scale, alpha } = this;
    return tidy(() => where(le(alpha, 1), Infinity, div(mul(alpha, scale), sub(alpha, 1))));
  }

  override get mode(): Tensor {
    return this.scale;
  }

  /** Infinite for alpha up to 2. */
  override get variance(): Tensor {
    const { scale, alpha } = this;
    return tidy(() => {
      const finite = div(mul(square(scale), alpha), mul(square(sub(alpha, 1)), sub(alpha, 2)));
      return where(le(alpha, 2), Infinity, finite);
    });
  }

  override logProb(value: Tensor): Tensor {
    const { scale, alpha } = this;
    return tidy(() => {
      const powers = mul(alpha, log(div(value, scale)));
      return where(ge(value, scale), sub(sub(log(alpha), powers), log(value)), -Infinity);
    });
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => rsub(pow(div(this.scale, value), this.alpha), 1));
  }

  override icdf(probability: Tensor): Tensor {
    return tidy(() => mul(this.scale, exp(neg(div(log1p(neg(probability)), this.alpha)))));
  }

  override entropy(): Tensor {
    const { scale, alpha } = this;
    return tidy(() => add(log(div(scale, alpha)), add(reciprocal(alpha), 1)));
  }

  override expand(batchShape: Shape): Pareto {
    return new Pareto(expand(this.scale, batchShape), expand(this.alpha, batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Pareto)) return null;
    return tidy(() => {
      const ratio = div(other.alpha, this.alpha);
      const powers = mul(other.alpha, log(div(this.scale, other.scale)));
      const finite = sub(sub(add(powers, ratio), log(ratio)), 1);
      return where(ge(this.scale, other.scale), finite, Infinity);
    });
  }

  protected override draw(shape: Shape): Tensor {
    const waits = waitsFor(this.scale, this.extended(shape));
    return mul(this.scale, exp(div(waits, this.alpha)));
  }
}
