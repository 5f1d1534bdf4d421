/** Continuous distributions with a location and a scale, drawn by inverting their distribution functions. */

import { expand } from '../ops/core/broadcast.ts';
import { fullLike } from '../ops/movement/ranges.ts';
import {
  abs,
  add,
  atan,
  clamp,
  clampMin,
  div,
  exp,
  expm1,
  ge,
  gt,
  le,
  lgamma,
  log,
  log1p,
  logicalAnd,
  logicalOr,
  lt,
  mul,
  neg,
  type Operand,
  rsub,
  sign,
  square,
  sub,
  tan,
  where,
} from '../ops/pointwise/pointwise.ts';
import { anyNumber, positive } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import {
  Distribution,
  epsilonOf,
  parameter,
  parametersOf,
  tiniestOf,
  uniformFor,
} from './distribution.ts';

const rangeKinds = { low: parameter(anyNumber), high: parameter(anyNumber) };

/** The uniform distribution between `low` and `high`. */
export class Uniform extends Distribution {
  readonly low: Tensor;
  readonly high: Tensor;

  constructor(low: Operand, high: Operand, ...surplus: []) {
    const [least, most] = tidy(() => parametersOf('Uniform', { low, high }, rangeKinds));
    super(least!.shape, [], ...surplus);
    this.low = least!;
    this.high = most!;
  }

  override get mean(): Tensor {
    return tidy(() => mul(add(this.high, this.low), 0.5));
  }

  /** NaN: every value is as probable. */
  override get mode(): Tensor {
    return fullLike(this.high, Number.NaN);
  }

  override get variance(): Tensor {
    return tidy(() => mul(square(sub(this.high, this.low)), 1 / 12));
  }

  override logProb(value: Tensor): Tensor {
    const { low, high } = this;
    return tidy(() => {
      const inside = logicalAnd(le(low, value), gt(high, value));
      return where(inside, neg(log(sub(high, low))), -Infinity);
    });
  }

  override cdf(value: Tensor): Tensor {
    const { low, high } = this;
    return tidy(() => clamp(div(sub(value, low), sub(high, low)), 0, 1));
  }

  override icdf(probability: Tensor): Tensor {
    const { low, high } = this;
    return tidy(() => add(mul(probability, sub(high, low)), low));
  }

  override entropy(): Tensor {
    return tidy(() => log(sub(this.high, this.low)));
  }

  override expand(batchShape: Shape): Uniform {
    return new Uniform(expand(this.low, batchShape), expand(this.high, batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Uniform)) return null;
    return tidy(() => {
      const ratio = log(div(sub(other.high, other.low), sub(this.high, this.low)));
      const isBeyond = logicalOr(gt(other.low, this.low), lt(other.high, this.high));
      return where(isBeyond, Infinity, ratio);
    });
  }

  protected override draw(shape: Shape): Tensor {
    return this.icdf(uniformFor(this.low, this.extended(shape)));
  }
}

const placeKinds = { loc: parameter(anyNumber), scale: parameter(positive) };

/** A distribution that is shifted and stretched. */
abstract class LocationScale extends Distribution {
  readonly loc: Tensor;
  readonly scale: Tensor;

  constructor(loc: Operand, scale: Operand, ...surplus: []) {
    const [center, width] = tidy(() => parametersOf(new.target.name, { loc, scale }, placeKinds));
    super(center!.shape, [], ...surplus);
    this.loc = center!;
    this.scale = width!;
  }

  override get mode(): Tensor {
    return this.loc;
  }

  override expand(batchShape: Shape): this {
    const Own = this.constructor as new (loc: Tensor, scale: Tensor) => this;
    return new Own(expand(this.loc, batchShape), expand(this.scale, batchShape));
  }

  /** Returns the value at `loc` 0 and `scale` 1. */
  protected standard(value: Tensor): Tensor {
    return div(sub(value, this.loc), this.scale);
  }
}

/** The Laplace distribution: exponential on both sides of `loc`. */
export class Laplace extends LocationScale {
  override get mean(): Tensor {
    return this.loc;
  }

  override get variance(): Tensor {
    return tidy(() => mul(square(this.scale), 2));
  }

  override logProb(value: Tensor): Tensor {
    const { loc, scale } = this;
    return tidy(() => sub(neg(log(mul(scale, 2))), div(abs(sub(value, loc)), scale)));
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => {
      const standard = this.standard(value);
      return rsub(mul(mul(sign(standard), expm1(neg(abs(standard)))), 0.5), 0.5);
    });
  }

  override icdf(probability: Tensor): Tensor {
    const { loc, scale } = this;
    return tidy(() => {
      const term = sub(probability, 0.5);
      return sub(loc, mul(mul(scale, sign(term)), log1p(mul(abs(term), -2))));
    });
  }

  override entropy(): Tensor {
    return tidy(() => add(log(mul(this.scale, 2)), 1));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Laplace)) return null;
    return tidy(() => {
      const ratio = div(this.scale, other.scale);
      const distance = abs(sub(this.loc, other.loc));
      const decay = mul(ratio, exp(neg(div(distance, this.scale))));
      return sub(add(sub(div(distance, other.scale), log(ratio)), decay), 1);
    });
  }

  protected override draw(shape: Shape): Tensor {
    // From −1 on, exclusive: the logarithm of 0 is infinite.
    const uniform = uniformFor(this.loc, this.extended(shape));
    const centered = clampMin(sub(mul(uniform, 2), 1), epsilonOf(uniform) - 1);
    return sub(this.loc, mul(mul(this.scale, sign(centered)), log1p(neg(abs(centered)))));
  }
}

/** Euler's constant γ. */
const euler = 0.5772156649015329;

/** The Gumbel distribution of maxima. */
export class Gumbel extends LocationScale {
  override get mean(): Tensor {
    return tidy(() => add(this.loc, mul(this.scale, euler)));
  }

  override get variance(): Tensor {
    return tidy(() => mul(square(this.scale), Math.PI ** 2 / 6));
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const exponent = neg(this.standard(value));
      return sub(sub(exponent, exp(exponent)), log(this.scale));
    });
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => exp(neg(exp(neg(this.standard(value))))));
  }

  override icdf(probability: Tensor): Tensor {
    return tidy(() => sub(this.loc, mul(this.scale, log(neg(log(probability))))));
  }

  override entropy(): Tensor {
    return tidy(() => add(log(this.scale), 1 + euler));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Gumbel)) return null;
    return tidy(() => {
      const ratio = div(this.scale, other.scale);
      const shift = div(sub(other.loc, this.loc), other.scale);
      const last = exp(add(shift, lgamma(add(ratio, 1))));
      return sub(add(sub(sub(mul(ratio, euler), log(ratio)), shift), last), 1 + euler);
    });
  }

  protected override draw(shape: Shape): Tensor {
    const uniform = uniformFor(this.loc, this.extended(shape));
    return this.icdf(clamp(uniform, tiniestOf(uniform), 1 - epsilonOf(uniform)));
  }
}

/** The Cauchy distribution, which has no mean. */
export class Cauchy extends LocationScale {
  /** NaN. */
  override get mean(): Tensor {
    return fullLike(this.loc, Number.NaN);
  }

  override get variance(): Tensor {
    return fullLike(this.loc, Infinity);
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() =>
      sub(rsub(log(this.scale), -Math.log(Math.PI)), log1p(square(this.standard(value)))),
    );
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => add(mul(atan(this.standard(value)), 1 / Math.PI), 0.5));
  }

  override icdf(probability: Tensor): Tensor {
    return tidy(() => add(mul(tan(mul(sub(probability, 0.5), Math.PI)), this.scale), this.loc));
  }

  override entropy(): Tensor {
    return tidy(() => add(log(this.scale), Math.log(4 * Math.PI)));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Cauchy)) return null;
    return tidy(() => {
      const widths = square(add(this.scale, other.scale));
      const shift = square(sub(this.loc, other.loc));
      return sub(log(add(widths, shift)), log(mul(mul(this.scale, other.scale), 4)));
    });
  }

  protected override draw(shape: Shape): Tensor {
    const uniform = uniformFor(this.loc, this.extended(shape));
    return this.icdf(uniform);
  }
}

const scaleKinds = { scale: parameter(positive) };

/** The distribution of the absolute value of a Cauchy-distributed number around 0. */
export class HalfCauchy extends Distribution {
  readonly scale: Tensor;

  constructor(scale: Operand, ...surplus: []) {
    const [width] = tidy(() => parametersOf('HalfCauchy', { scale }, scaleKinds));
    super(width!.shape, [], ...surplus);
    this.scale = width!;
  }

  override get mean(): Tensor {
    return fullLike(this.scale, Infinity);
  }

  override get mode(): Tensor {
    return fullLike(this.scale, 0);
  }

  override get variance(): Tensor {
    return fullLike(this.scale, Infinity);
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const both = rsub(log(this.scale), Math.log(2 / Math.PI));
      const density = sub(both, log1p(square(div(value, this.scale))));
      return where(ge(value, 0), density, -Infinity);
    });
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => mul(atan(div(value, this.scale)), 2 / Math.PI));
  }

  override icdf(probability: Tensor): Tensor {
    return tidy(() => mul(tan(mul(probability, Math.PI / 2)), this.scale));
  }

  override entropy(): Tensor {
    return tidy(() => add(log(this.scale), Math.log(2 * Math.PI)));
  }

  override expand(batchShape: Shape): HalfCauchy {
    return new HalfCauchy(expand(this.scale, batchShape));
  }

  protected override draw(shape: Shape): Tensor {
    return abs(this.icdf(uniformFor(this.scale, this.extended(shape))));
  }
}
