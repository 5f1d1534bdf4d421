/** The gamma distribution, and distributions derived from it. */

import { expand } from '../ops/core/broadcast.ts';
import {
  add,
  clampMin,
  digamma,
  div,
  floor,
  gt,
  le,
  lgamma,
  log,
  log1p,
  mul,
  type Operand,
  reciprocal,
  rsqrt,
  rsub,
  square,
  sub,
  where,
  xlogy,
} from '../ops/pointwise/pointwise.ts';
import { anyNumber, nonNegativeNumber, positive } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Distribution, normalFor, parameter, parametersOf } from './distribution.ts';
import { drawGamma, drawPoisson } from './rejection.ts';

const gammaKinds = { concentration: parameter(positive), rate: parameter(positive) };

/** A distribution with the parameters of a gamma distribution. */
abstract class GammaFamily extends Distribution {
  readonly concentration: Tensor;
  readonly rate: Tensor;

  constructor(concentration: Operand, rate: Operand, ...surplus: []) {
    const [shape, inverseScale] = tidy(() =>
      parametersOf(new.target.name, { concentration, rate }, gammaKinds),
    );
    super(shape!.shape, [], ...surplus);
    this.concentration = shape!;
    this.rate = inverseScale!;
  }
}

/** The gamma distribution. */
export class Gamma extends GammaFamily {
  override get mean(): Tensor {
    return div(this.concentration, this.rate);
  }

  override get mode(): Tensor {
    return tidy(() => clampMin(div(sub(this.concentration, 1), this.rate), 0));
  }

  override get variance(): Tensor {
    return tidy(() => div(this.concentration, square(this.rate)));
  }

  override logProb(value: Tensor): Tensor {
    const { concentration, rate } = this;
    return tidy(() => {
      const powers = add(xlogy(concentration, rate), xlogy(sub(concentration, 1), value));
      return sub(sub(powers, mul(rate, value)), lgamma(concentration));
    });
  }

  override entropy(): Tensor {
    const { concentration, rate } = this;
    return tidy(() => {
      const terms = add(sub(concentration, log(rate)), lgamma(concentration));
      return add(terms, mul(rsub(concentration, 1), digamma(concentration)));
    });
  }

  override expand(batchShape: Shape): Gamma {
    return new Gamma(expand(this.concentration, batchShape), expand(this.rate, batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Gamma)) return null;
    const [p, q] = [this.concentration, other.concentration];
    return tidy(() => {
      const rates = mul(q, log(div(this.rate, other.rate)));
      const orders = sub(lgamma(q), lgamma(p));
      const shapes = mul(sub(p, q), digamma(p));
      const last = mul(sub(other.rate, this.rate), div(p, this.rate));
      return add(add(add(rates, orders), shapes), last);
    });
  }

  protected override draw(shape: Shape): Tensor {
    return div(drawGamma(this.concentration, this.extended(shape)), this.rate);
  }
}

const degreesKinds = { df: parameter(positive) };

/** The distribution of a sum of `df` squares of standard normal numbers. */
export class Chi2 extends Gamma {
  constructor(df: Operand, ...surplus: []) {
    const [half, rate] = tidy(() => {
      const [degrees] = parametersOf('Chi2', { df }, degreesKinds);
      const half = mul(degrees!, 0.5);
      return parametersOf('Chi2', { concentration: half, rate: 0.5 }, gammaKinds);
    });
    super(half!, rate!, ...surplus);
  }

  get df(): Tensor {
    return mul(this.concentration, 2);
  }

  override expand(batchShape: Shape): Chi2 {
    const df = tidy(() => expand(this.df, batchShape));
    const expanded = new Chi2(df);
    df.dispose();
    return expanded;
  }
}

/** The distribution of the reciprocal of a gamma-distributed number. */
export class InverseGamma extends GammaFamily {
  /** Infinite for a concentration up to 1. */
  override get mean(): Tensor {
    const { concentration, rate } = this;
    return tidy(() => where(gt(concentration, 1), div(rate, sub(concentration, 1)), Infinity));
  }

  override get mode(): Tensor {
    return tidy(() => div(this.rate, add(this.concentration, 1)));
  }

  /** Infinite for a concentration up to 2. */
  override get variance(): Tensor {
    const { concentration, rate } = this;
    return tidy(() => {
      const below = mul(square(sub(concentration, 1)), sub(concentration, 2));
      return where(gt(concentration, 2), div(square(rate), below), Infinity);
    });
  }

  override logProb(value: Tensor): Tensor {
    const { concentration, rate } = this;
    return tidy(() => {
      const inverse = reciprocal(value);
      const powers = add(xlogy(concentration, rate), xlogy(add(concentration, 1), inverse));
      return sub(sub(powers, mul(rate, inverse)), lgamma(concentration));
    });
  }

  override entropy(): Tensor {
    const { concentration, rate } = this;
    return tidy(() => {
      const terms = add(add(concentration, log(rate)), lgamma(concentration));
      return sub(terms, mul(add(concentration, 1), digamma(concentration)));
    });
  }

  override expand(batchShape: Shape): InverseGamma {
    return new InverseGamma(expand(this.concentration, batchShape), expand(this.rate, batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof InverseGamma)) return null;
    return tidy(() =>
      new Gamma(this.concentration, this.rate).divergenceTo(
        new Gamma(other.concentration, other.rate),
      ),
    );
  }

  protected override draw(shape: Shape): Tensor {
    return div(this.rate, drawGamma(this.concentration, this.extended(shape)));
  }
}

const studentKinds = {
  df: parameter(positive),
  loc: parameter(anyNumber),
  scale: parameter(positive),
};

/** Student's t distribution with `df` degrees of freedom. */
export class StudentT extends Distribution {
  readonly df: Tensor;
  readonly loc: Tensor;
  readonly scale: Tensor;

  constructor(df: Operand, loc: Operand = 0, scale: Operand = 1, ...surplus: []) {
    const [degrees, center, width] = tidy(() =>
      parametersOf('StudentT', { df, loc, scale }, studentKinds),
    );
    super(degrees!.shape, [], ...surplus);
    this.df = degrees!;
    this.loc = center!;
    this.scale = width!;
  }

  /** NaN up to one degree. */
  override get mean(): Tensor {
    return tidy(() => where(le(this.df, 1), Number.NaN, this.loc));
  }

  override get mode(): Tensor {
    return this.loc;
  }

  /** Infinite up to two degrees, NaN up to one. */
  override get variance(): Tensor {
    const { df, scale } = this;
    return tidy(() => {
      const finite = div(mul(square(scale), df), sub(df, 2));
      return where(le(df, 1), Number.NaN, where(le(df, 2), Infinity, finite));
    });
  }

  override logProb(value: Tensor): Tensor {
    const { df, loc, scale } = this;
    return tidy(() => {
      const standard = div(sub(value, loc), scale);
      const orders = sub(lgamma(mul(df, 0.5)), lgamma(mul(add(df, 1), 0.5)));
      const widths = add(log(scale), mul(log(mul(df, Math.PI)), 0.5));
      const tails = mul(mul(add(df, 1), -0.5), log1p(div(square(standard), df)));
      return sub(tails, add(widths, orders));
    });
  }

  override entropy(): Tensor {
    const { df, scale } = this;
    return tidy(() => {
      const [half, more] = [mul(df, 0.5), mul(add(df, 1), 0.5)];
      const beta = add(sub(lgamma(half), lgamma(more)), Math.log(Math.PI) / 2);
      const slopes = mul(more, sub(digamma(more), digamma(half)));
      return add(add(add(log(scale), slopes), mul(log(df), 0.5)), beta);
    });
  }

  override expand(batchShape: Shape): StudentT {
    const [df, loc, scale] = [this.df, this.loc, this.scale].map((x) => expand(x, batchShape));
    return new StudentT(df!, loc!, scale!);
  }

  protected override draw(shape: Shape): Tensor {
    const extended = this.extended(shape);
    const normal = normalFor(this.df, extended);
    const squares = mul(drawGamma(mul(this.df, 0.5), extended), 2);
    return add(this.loc, mul(this.scale, mul(normal, rsqrt(div(squares, this.df)))));
  }
}

const rateKinds = { rate: parameter(nonNegativeNumber) };

/** The distribution of the number of independent events with mean `rate`. */
export class Poisson extends Distribution {
  readonly rate: Tensor;

  constructor(rate: Operand, ...surplus: []) {
    const [checked] = tidy(() => parametersOf('Poisson', { rate }, rateKinds));
    super(checked!.shape, [], ...surplus);
    this.rate = checked!;
  }

  override get hasRsample(): boolean {
    return false;
  }

  override get mean(): Tensor {
    return this.rate;
  }

  override get mode(): Tensor {
    return floor(this.rate);
  }

  override get variance(): Tensor {
    return this.rate;
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => sub(sub(xlogy(value, this.rate), this.rate), lgamma(add(value, 1))));
  }

  override expand(batchShape: Shape): Poisson {
    return new Poisson(expand(this.rate, batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Poisson)) return null;
    const [p, q] = [this.rate, other.rate];
    return tidy(() => sub(mul(p, sub(log(p), log(q))), sub(p, q)));
  }

  protected override draw(shape: Shape): Tensor {
    return drawPoisson(this.rate, this.extended(shape));
  }
}
