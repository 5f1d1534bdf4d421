import { expand } from '../ops/core/broadcast.ts';
import { fullLike } from '../ops/movement/ranges.ts';
import {
  abs,
  add,
  div,
  erf,
  erfinv,
  exp,
  expm1,
  ge,
  log,
  mul,
  type Operand,
  square,
  sub,
  where,
} from '../ops/pointwise/pointwise.ts';
import { anyNumber, positive } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Distribution, normalFor, parameter, parametersOf } from './distribution.ts';

const placeKinds = { loc: parameter(anyNumber), scale: parameter(positive) };

/** Returns ln √2π as the constant that float64 holds. */
const logOfRoot = Math.log(Math.sqrt(2 * Math.PI));

/** The normal distribution with mean `loc` and standard deviation `scale`. */
export class Normal extends Distribution {
  readonly loc: Tensor;
  readonly scale: Tensor;

  constructor(loc: Operand, scale: Operand, ...surplus: []) {
    const [center, width] = tidy(() => parametersOf('Normal', { loc, scale }, placeKinds));
    super(center!.shape, [], ...surplus);
    this.loc = center!;
    this.scale = width!;
  }

  override get mean(): Tensor {
    return this.loc;
  }

  override get mode(): Tensor {
    return this.loc;
  }

  override get stddev(): Tensor {
    return this.scale;
  }

  override get variance(): Tensor {
    return square(this.scale);
  }

  override logProb(value: Tensor): Tensor {
    const { loc, scale } = this;
    return tidy(() => {
      const squares = div(square(sub(value, loc)), mul(square(scale), 2));
      return sub(sub(mul(squares, -1), log(scale)), logOfRoot);
    });
  }

  override cdf(value: Tensor): Tensor {
    const { loc, scale } = this;
    return tidy(() => mul(add(erf(div(sub(value, loc), mul(scale, Math.SQRT2))), 1), 0.5));
  }

  override icdf(probability: Tensor): Tensor {
    const { loc, scale } = this;
    return tidy(() => add(loc, mul(mul(scale, erfinv(sub(mul(probability, 2), 1))), Math.SQRT2)));
  }

  override entropy(): Tensor {
    return tidy(() => add(log(this.scale), 0.5 + logOfRoot));
  }

  override expand(batchShape: Shape): Normal {
    return new Normal(expand(this.loc, batchShape), expand(this.scale, batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Normal)) return null;
    return tidy(() => {
      const ratio = square(div(this.scale, other.scale));
      const shift = square(div(sub(this.loc, other.loc), other.scale));
      return mul(sub(sub(add(ratio, shift), 1), log(ratio)), 0.5);
    });
  }

  protected override draw(shape: Shape): Tensor {
    return add(this.loc, mul(normalFor(this.loc, this.extended(shape)), this.scale));
  }
}

/** The distribution of e to the power of a normally distributed number. */
export class LogNormal extends Distribution {
  /** The distribution of the logarithm. */
  readonly base: Normal;

  constructor(loc: Operand, scale: Operand, ...surplus: []) {
    const [center, width] = tidy(() => parametersOf('LogNormal', { loc, scale }, placeKinds));
    super(center!.shape, [], ...surplus);
    this.base = new Normal(center!, width!);
  }

  get loc(): Tensor {
    return this.base.loc;
  }

  get scale(): Tensor {
    return this.base.scale;
  }

  override get mean(): Tensor {
    return tidy(() => exp(add(this.loc, mul(square(this.scale), 0.5))));
  }

  override get mode(): Tensor {
    return tidy(() => exp(sub(this.loc, square(this.scale))));
  }

  override get variance(): Tensor {
    return tidy(() => {
      const variance = square(this.scale);
      return mul(expm1(variance), exp(add(mul(this.loc, 2), variance)));
    });
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const exponent = log(value);
      return sub(this.base.logProb(exponent), exponent);
    });
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => this.base.cdf(log(value)));
  }

  override icdf(probability: Tensor): Tensor {
    return tidy(() => exp(this.base.icdf(probability)));
  }

  override entropy(): Tensor {
    return tidy(() => add(this.base.entropy(), this.loc));
  }

  override expand(batchShape: Shape): LogNormal {
    return new LogNormal(expand(this.loc, batchShape), expand(this.scale, batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    return other instanceof LogNormal ? this.base.divergenceTo(other.base) : null;
  }

  protected override draw(shape: Shape): Tensor {
    return exp(this.base.rsample(shape));
  }
}

const scaleKinds = { scale: parameter(positive) };

/** The distribution of the absolute value of a normally distributed number with mean 0. */
export class HalfNormal extends Distribution {
  readonly scale: Tensor;

  constructor(scale: Operand, ...surplus: []) {
    const [width] = tidy(() => parametersOf('HalfNormal', { scale }, scaleKinds));
    super(width!.shape, [], ...surplus);
    this.scale = width!;
  }

  override get mean(): Tensor {
    return mul(this.scale, Math.sqrt(2 / Math.PI));
  }

  override get mode(): Tensor {
    return fullLike(this.scale, 0);
  }

  override get variance(): Tensor {
    return tidy(() => mul(square(this.scale), 1 - 2 / Math.PI));
  }

  override logProb(value: Tensor): Tensor {
    return tidy(() => {
      const both = add(new Normal(0, this.scale).logProb(value), Math.LN2);
      return where(ge(value, 0), both, -Infinity);
    });
  }

  override cdf(value: Tensor): Tensor {
    return tidy(() => sub(mul(new Normal(0, this.scale).cdf(value), 2), 1));
  }

  override icdf(probability: Tensor): Tensor {
    return tidy(() => new Normal(0, this.scale).icdf(mul(add(probability, 1), 0.5)));
  }

  override entropy(): Tensor {
    return tidy(() => sub(new Normal(0, this.scale).entropy(), Math.LN2));
  }

  override expand(batchShape: Shape): HalfNormal {
    return new HalfNormal(expand(this.scale, batchShape));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof HalfNormal)) return null;
    return tidy(() => new Normal(0, this.scale).divergenceTo(new Normal(0, other.scale)));
  }

  protected override draw(shape: Shape): Tensor {
    return abs(mul(normalFor(this.scale, this.extended(shape)), this.scale));
  }
}
