import { ArgumentError } from '../errors/errors.ts';
import { argumentsOf } from '../functional/arguments-of.ts';
import {
  alphaDropout,
  dropout,
  featureAlphaDropout,
  featureDropout,
} from '../ops/random/dropout.ts';
import { shown } from '../options/expect-options.ts';
import { anyNumber, probability } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';

function expectProbability(owner: string, p: number): number {
  if (probability.accepts(p)) return p;
  throw new ArgumentError({
    what: `${owner}: not a probability`,
    given: `p = ${shown(p)}`,
    expected: probability.expected,
    remedy: 'pass the fraction of elements to zero, such as 0.5',
  });
}

/**
 * In training, zeroes each element with probability `p` and scales the others by 1 / (1 − p). In evaluation, the
 * identity.
 */
export class Dropout extends Module {
  /** May be changed between calls, for example by a schedule. */
  p: number;

  constructor(pOrOptions: number | { readonly p?: number } = 0.5, ...surplus: []) {
    super(...surplus);
    const owner = new.target.name;
    this.p = expectProbability(owner, argumentsOf(owner, { p: anyNumber }, pOrOptions).p ?? 0.5);
  }

  override forward(input: Tensor): Tensor {
    return this.active ? dropout(input, this.p) : input;
  }

  /** Whether dropout may zero elements. */
  protected get active(): boolean {
    return this.training && this.p !== 0;
  }
}

/** Zeroes entire channels of [n, c, l]. */
export class Dropout1d extends Dropout {
  override forward(input: Tensor): Tensor {
    return this.active ? featureDropout(input, this.p) : input;
  }
}

/** Zeroes entire channels of [n, c, h, w]. */
export class Dropout2d extends Dropout1d {}

/** Zeroes entire channels of [n, c, d, h, w]. */
export class Dropout3d extends Dropout1d {}

/** Dropout that preserves the mean and variance of SELU's output. */
export class AlphaDropout extends Dropout {
  override forward(input: Tensor): Tensor {
    return this.active ? alphaDropout(input, this.p) : input;
  }
}

/** `AlphaDropout` of entire channels of [n, c, …]. */
export class FeatureAlphaDropout extends Dropout {
  override forward(input: Tensor): Tensor {
    return this.active ? featureAlphaDropout(input, this.p) : input;
  }
}
