/** Activations with a threshold. */

import { argumentsOf } from '../functional/arguments-of.ts';
import { add, leakyRelu, lt, mul, where } from '../ops/pointwise/pointwise.ts';
import {
  celu,
  glu,
  hardshrink,
  softshrink,
  tanhshrink,
  threshold,
} from '../ops/pointwise/thresholds.ts';
import { randLike } from '../ops/random/random.ts';
import { wrongValue } from '../options/expect-options.ts';
import { anyInteger, anyNumber } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';

/** x above the threshold, else `value`. */
export class Threshold extends Module {
  readonly threshold: number;
  readonly value: number;

  constructor(threshold: number, value: number, ...surplus: []) {
    super(...surplus);
    this.threshold = threshold;
    this.value = value;
  }

  override forward(input: Tensor): Tensor {
    return threshold(input, this.threshold, this.value);
  }
}

/** x outside [−lambd, lambd], else 0. */
export class Hardshrink extends Module {
  readonly lambd: number;

  constructor(lambd: number | { readonly lambd?: number } = 0.5, ...surplus: []) {
    super(...surplus);
    this.lambd = argumentsOf('Hardshrink', { lambd: anyNumber }, lambd).lambd ?? 0.5;
  }

  override forward(input: Tensor): Tensor {
    return hardshrink(input, this.lambd);
  }
}

/** x moved toward 0 by lambd, but not past 0. */
export class Softshrink extends Module {
  readonly lambd: number;

  constructor(lambd: number | { readonly lambd?: number } = 0.5, ...surplus: []) {
    super(...surplus);
    this.lambd = argumentsOf('Softshrink', { lambd: anyNumber }, lambd).lambd ?? 0.5;
  }

  override forward(input: Tensor): Tensor {
    return softshrink(input, this.lambd);
  }
}

/** x − tanh(x) */
export class Tanhshrink extends Module {
  override forward(input: Tensor): Tensor {
    return tanhshrink(input);
  }
}

/** An ELU that is smooth for every alpha. */
export class CELU extends Module {
  readonly alpha: number;

  constructor(alpha: number | { readonly alpha?: number } = 1, ...surplus: []) {
    super(...surplus);
    this.alpha = argumentsOf('CELU', { alpha: anyNumber }, alpha).alpha ?? 1;
  }

  override forward(input: Tensor): Tensor {
    return celu(input, this.alpha);
  }
}

/** Gated linear unit: the first half along `dim` times the sigmoid of the second. */
export class GLU extends Module {
  readonly dim: number;

  constructor(dim: number | { readonly dim?: number } = -1, ...surplus: []) {
    super(...surplus);
    this.dim = argumentsOf('GLU', { dim: anyInteger }, dim).dim ?? -1;
  }

  override forward(input: Tensor): Tensor {
    return glu(input, this.dim);
  }
}

/** Leaky ReLU with a random slope between the bounds in training, and their mean in evaluation. */
export class RReLU extends Module {
  readonly lower: number;
  readonly upper: number;

  constructor(
    first: number | { readonly lower?: number; readonly upper?: number } = 1 / 8,
    second?: number,
    ...surplus: []
  ) {
    super(...surplus);
    const kinds = { lower: anyNumber, upper: anyNumber };
    const { lower = 1 / 8, upper = 1 / 3 } = argumentsOf('RReLU', kinds, first, second);
    if (!(lower <= upper)) throw wrongValue('RReLU', 'upper', upper, `a number, ${lower} or more`);
    this.lower = lower;
    this.upper = upper;
  }

  override forward(input: Tensor): Tensor {
    const { lower, upper } = this;
    if (!this.training) return leakyRelu(input, (lower + upper) / 2);
    return tidy(() => {
      const slope = add(mul(randLike(input), upper - lower), lower);
      return where(lt(input, 0), mul(input, slope), input);
    });
  }
}
