/** Invertible functions of tensors that know how they stretch space. */

import { deviceGuard } from '../device/current.ts';
import { pad } from '../ops/arranging/padding.ts';
import { narrow } from '../ops/movement/movement.ts';
import { arange, fullLike } from '../ops/movement/ranges.ts';
import { softmax } from '../ops/normalization/softmax.ts';
import {
  abs,
  add,
  atanh,
  clamp,
  clampMin,
  div,
  exp,
  expm1,
  log,
  log1p,
  logSigmoid,
  mul,
  neg,
  type Operand,
  pow,
  reciprocal,
  rsub,
  sigmoid,
  sign,
  softplus,
  sub,
  tanh,
} from '../ops/pointwise/pointwise.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { cumprod, cumsum } from '../ops/reduce/scans.ts';
import { expectArguments, expectNoMore, expectOptions } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import {
  anyNumber,
  arrayOf,
  aTensor,
  count,
  either,
  oneOf,
  that,
} from '../options/option-kinds.ts';
import { broadcastShapes, type Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { epsilonOf, sumLast, tiniestOf } from './distribution.ts';

/** An invertible function y(x) of single numbers, or of the last `eventDim` dimensions together. */
export abstract class Transform {
  /** The number of dimensions that are transformed together. */
  readonly eventDim: number = 0;

  constructor(...surplus: []) {
    expectNoMore(new.target.name, surplus);
  }

  /** 1 or −1 for a rising or falling function, or a tensor of these. */
  get sign(): Operand {
    return 1;
  }

  /** Returns y for x. */
  forward(x: Tensor): Tensor {
    expectArguments(this.constructor.name, { x }, { x: aTensor });
    return tidy(() => this.apply(x));
  }

  /** Returns x for y. */
  inverse(y: Tensor): Tensor {
    expectArguments(this.constructor.name, { y }, { y: aTensor });
    return tidy(() => this.invert(y));
  }

  /** Returns the shape of y for the shape of x. */
  forwardShape(shape: Shape): Shape {
    return shape;
  }

  /** Returns the shape of x for the shape of y. */
  inverseShape(shape: Shape): Shape {
    return shape;
  }

  /** Returns ln |dy/dx|, summed over the last `eventDim` dimensions. */
  abstract logAbsDetJacobian(x: Tensor, y: Tensor): Tensor;

  protected abstract apply(x: Tensor): Tensor;
  protected abstract invert(y: Tensor): Tensor;
}

/** y = eˣ. */
export class ExpTransform extends Transform {
  override logAbsDetJacobian(x: Tensor, _y: Tensor): Tensor {
    return x;
  }

  protected override apply(x: Tensor): Tensor {
    return exp(x);
  }

  protected override invert(y: Tensor): Tensor {
    return log(y);
  }
}

const operand = either(anyNumber, aTensor);
const eventKinds = { eventDim: count(0) };
const affineKinds = { loc: operand, scale: operand };

export interface AffineOptions {
  /** The number of dimensions that are transformed together: 0 by default. */
  readonly eventDim?: number;
}

/** y = loc + scale · x. */
export class AffineTransform extends Transform {
  override readonly eventDim: number;
  readonly loc: Operand;
  readonly scale: Operand;

  constructor(loc: Operand, scale: Operand, options: AffineOptions = {}, ...surplus: []) {
    expectArguments('AffineTransform', { loc, scale }, affineKinds);
    expectOptions('AffineTransform', options, eventKinds);
    super(...surplus);
    this.eventDim = options.eventDim ?? 0;
    this.loc = loc;
    this.scale = scale;
  }

  override get sign(): Operand {
    return typeof this.scale === 'number' ? Math.sign(this.scale) : sign(this.scale);
  }

  override logAbsDetJacobian(x: Tensor, _y: Tensor): Tensor {
    return tidy(() => {
      const scale = fullLike(x, 1);
      return sumLast(log(abs(mul(scale, this.scale))), this.eventDim);
    });
  }

  override forwardShape(shape: Shape): Shape {
    return [this.loc, this.scale].reduce<Shape>(
      (joint, value) => (isTensor(value) ? jointShape(joint, (value as Tensor).shape) : joint),
      shape,
    );
  }

  protected override apply(x: Tensor): Tensor {
    return add(mul(x, this.scale), this.loc);
  }

  protected override invert(y: Tensor): Tensor {
    return div(sub(y, this.loc), this.scale);
  }
}

/** Broadcasts two shapes, in code that can be traced. */
function jointShape(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  const sizes: number[] = [];
  for (let i = -rank; i < 0; i++) {
    const [x, y] = [a.at(i) ?? 1, b.at(i) ?? 1];
    if (x !== y && x !== 1 && y !== 1) return broadcastShapes(a, b, 'add'); // which throws
    sizes.push(x === 1 ? y : x);
  }
  return sizes;
}

/** y = 1 / (1 + e⁻ˣ), clamped to the numbers between 0 and 1. */
export class SigmoidTransform extends Transform {
  override logAbsDetJacobian(x: Tensor, _y: Tensor): Tensor {
    return tidy(() => sub(neg(softplus(neg(x))), softplus(x)));
  }

  protected override apply(x: Tensor): Tensor {
    return clippedSigmoid(x);
  }

  protected override invert(y: Tensor): Tensor {
    const inner = clamp(y, tiniestOf(y), 1 - epsilonOf(y));
    return sub(log(inner), log1p(neg(inner)));
  }
}

const clippedSigmoid = (x: Tensor): Tensor => clamp(sigmoid(x), tiniestOf(x), 1 - epsilonOf(x));

/** y = tanh x. Near −1 and 1 the inverse is inexact: see `rsampleWithLogProb`. */
export class TanhTransform extends Transform {
  override logAbsDetJacobian(x: Tensor, _y: Tensor): Tensor {
    return tidy(() => mul(sub(rsub(x, Math.LN2), softplus(mul(x, -2))), 2));
  }

  protected override apply(x: Tensor): Tensor {
    return tanh(x);
  }

  protected override invert(y: Tensor): Tensor {
    return atanh(y);
  }
}

/** y = ln(1 + eˣ). */
export class SoftplusTransform extends Transform {
  override logAbsDetJacobian(x: Tensor, _y: Tensor): Tensor {
    return tidy(() => neg(softplus(neg(x))));
  }

  protected override apply(x: Tensor): Tensor {
    return softplus(x);
  }

  protected override invert(y: Tensor): Tensor {
    return add(log(neg(expm1(neg(y)))), y);
  }
}

/** y = x to the power of `exponent`, for x above 0. */
export class PowerTransform extends Transform {
  readonly exponent: Operand;

  constructor(exponent: Operand, ...surplus: []) {
    expectArguments('PowerTransform', { exponent }, { exponent: operand });
    super(...surplus);
    this.exponent = exponent;
  }

  override get sign(): Operand {
    return typeof this.exponent === 'number' ? Math.sign(this.exponent) : sign(this.exponent);
  }

  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    return tidy(() => log(abs(div(mul(y, this.exponent), x))));
  }

  protected override apply(x: Tensor): Tensor {
    return pow(x, this.exponent);
  }

  protected override invert(y: Tensor): Tensor {
    const { exponent } = this;
    return pow(y, typeof exponent === 'number' ? 1 / exponent : reciprocal(exponent));
  }
}

const bijectiveKinds = { bijective: oneOf(true) };

/** Vectors to shares that sum to 1; as many numbers, so that the inverse is only one of many. */
export class SoftmaxTransform extends Transform {
  override readonly eventDim = 1;

  /** Throws ArgumentError: the function isn't invertible. */
  override logAbsDetJacobian(_x: Tensor, _y: Tensor): Tensor {
    expectArguments('SoftmaxTransform', { bijective: false }, bijectiveKinds);
    return _x;
  }

  protected override apply(x: Tensor): Tensor {
    return softmax(x, -1);
  }

  protected override invert(y: Tensor): Tensor {
    return log(y);
  }
}

/** Vectors of n numbers to n + 1 shares that sum to 1, each a share of what the ones before it left. */
export class StickBreakingTransform extends Transform {
  override readonly eventDim = 1;

  override forwardShape(shape: Shape): Shape {
    return [...shape.slice(0, -1), shape.at(-1)! + 1];
  }

  override inverseShape(shape: Shape): Shape {
    return [...shape.slice(0, -1), shape.at(-1)! - 1];
  }

  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    return tidy(() => {
      const logOdds = sub(x, log(remaining(x)));
      const shares = log(narrow(y, -1, 0, x.shape.at(-1)!));
      return sum(add(sub(logSigmoid(logOdds), logOdds), shares), -1);
    });
  }

  protected override apply(x: Tensor): Tensor {
    const share = clippedSigmoid(sub(x, log(remaining(x))));
    const left = cumprod(rsub(share, 1), -1);
    return mul(pad(share, [0, 1], 'constant', 1), pad(left, [1, 0], 'constant', 1));
  }

  protected override invert(y: Tensor): Tensor {
    const shares = narrow(y, -1, 0, y.shape.at(-1)! - 1);
    const left = clampMin(rsub(cumsum(shares, -1), 1), tiniestOf(y));
    return add(sub(log(shares), log(left)), log(remaining(shares)));
  }
}

/** Returns n, n − 1 … 1 for vectors of n numbers. */
function remaining(x: Tensor): Tensor {
  const n = x.shape.at(-1)!;
  return deviceGuard(x.device, () => arange(n, 0, -1, { dtype: x.dtype }));
}

const isTransform = (value: unknown): boolean => value instanceof Transform;
const aTransform = that('a transform', isTransform);
const partsKinds = { parts: arrayOf(aTransform) };
const baseKinds = { base: aTransform, dims: count(0) };

/** Several transforms, one after the other. */
export class ComposeTransform extends Transform {
  override readonly eventDim: number;
  readonly parts: readonly Transform[];

  constructor(parts: readonly Transform[], ...surplus: []) {
    expectArguments('ComposeTransform', { parts }, partsKinds);
    super(...surplus);
    this.eventDim = Math.max(0, ...parts.map(({ eventDim }) => eventDim));
    this.parts = parts;
  }

  override get sign(): Operand {
    let all: Operand = 1;
    for (const { sign } of this.parts) {
      if (isTensor(sign)) all = mul(sign as Tensor, all);
      else all = isTensor(all) ? mul(all as Tensor, sign) : (all as number) * (sign as number);
    }
    return all;
  }

  override forwardShape(shape: Shape): Shape {
    return this.parts.reduce((before, part) => part.forwardShape(before), shape);
  }

  override inverseShape(shape: Shape): Shape {
    return this.parts.reduceRight((after, part) => part.inverseShape(after), shape);
  }

  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    return tidy(() => {
      let at = x;
      let total: Tensor | null = null;
      this.parts.forEach((part, i) => {
        const next = i === this.parts.length - 1 ? y : part.forward(at);
        const logDet = sumLast(part.logAbsDetJacobian(at, next), this.eventDim - part.eventDim);
        total = total ? add(total, logDet) : logDet;
        at = next;
      });
      return total ?? fullLike(x, 0);
    });
  }

  protected override apply(x: Tensor): Tensor {
    return this.parts.reduce((at, part) => part.forward(at), x);
  }

  protected override invert(y: Tensor): Tensor {
    return this.parts.reduceRight((at, part) => part.inverse(at), y);
  }
}

/** A transform of single numbers as one of the last `count` dimensions together. */
export class IndependentTransform extends Transform {
  override readonly eventDim: number;
  readonly base: Transform;

  constructor(base: Transform, dims: number, ...surplus: []) {
    expectArguments('IndependentTransform', { base, dims }, baseKinds);
    super(...surplus);
    this.eventDim = base.eventDim + dims;
    this.base = base;
  }

  override get sign(): Operand {
    return this.base.sign;
  }

  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    return tidy(() =>
      sumLast(this.base.logAbsDetJacobian(x, y), this.eventDim - this.base.eventDim),
    );
  }

  protected override apply(x: Tensor): Tensor {
    return this.base.forward(x);
  }

  protected override invert(y: Tensor): Tensor {
    return this.base.inverse(y);
  }
}
