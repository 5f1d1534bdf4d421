/** Learning rate schedules, by PyTorch's names and formulas. */

import { ArgumentError } from '../errors/errors.ts';
import { argumentsOf } from '../functional/arguments-of.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import {
  anyNumber,
  anyOperand,
  arrayOf,
  callback,
  count,
  either,
} from '../options/option-kinds.ts';
import type { Optimizer } from './optimizer.ts';
import { cosine, LRScheduler, positiveInteger } from './scheduler.ts';

type Factor = (epoch: number) => number;

const steps = count(1);
const iterations = count(0);
const milestonesKind = arrayOf(anyNumber);

const lambdaKinds = { lrLambda: either(callback, arrayOf(callback)) };

/** A function of the epoch for all groups, or one per group. */
export interface LambdaOptions {
  readonly lrLambda: Factor | readonly Factor[];
}

/** Returns one function per group. */
function factorsOf(
  owner: string,
  optimizer: Optimizer,
  lrLambdaOrOptions: LambdaOptions['lrLambda'] | LambdaOptions,
): readonly Factor[] {
  const { lrLambda } = argumentsOf(owner, lambdaKinds, lrLambdaOrOptions);
  expectArguments(owner, { lrLambda }, lambdaKinds);
  const factors = typeof lrLambda === 'function' ? optimizer.groups.map(() => lrLambda) : lrLambda;
  if (factors.length === optimizer.groups.length) return factors;
  throw new ArgumentError({
    what: `${owner}: not one function per group`,
    given: `${factors.length} functions for ${optimizer.groups.length} groups`,
    expected: 'one function, or one per parameter group',
    remedy: 'pass a single function for all groups',
  });
}

const factorKinds = { factor: anyOperand };

/** Returns the factor of an epoch. Throws ArgumentError if the function doesn't return a number. */
function factorAt(owner: string, factorOf: Factor, epoch: number): number {
  const factor = factorOf(epoch);
  expectArguments(owner, { factor }, factorKinds);
  return factor;
}

/** Multiplies the initial rate by a function of the epoch, one for all groups or one per group. */
export class LambdaLR extends LRScheduler {
  protected readonly factors: readonly Factor[];

  constructor(
    optimizer: Optimizer,
    factor: LambdaOptions['lrLambda'] | LambdaOptions,
    ...surplus: []
  ) {
    super(optimizer, ...surplus);
    this.factors = factorsOf('LambdaLR', optimizer, factor);
    this.apply();
  }

  override rate(base: number, epoch: number, group: number): number {
    return base * factorAt('LambdaLR', this.factors[group]!, epoch);
  }
}

/** Multiplies the rate by `gamma` every `stepSize` epochs. */
export class StepLR extends LRScheduler {
  readonly stepSize: number;
  readonly gamma: number;

  constructor(
    optimizer: Optimizer,
    stepSize: number | { readonly stepSize: number; readonly gamma?: number },
    gamma?: number,
    ...surplus: []
  ) {
    super(optimizer, ...surplus);
    const kinds = { stepSize: steps, gamma: anyNumber };
    const settings = argumentsOf('StepLR', kinds, stepSize, gamma);
    this.stepSize = positiveInteger('stepSize', settings.stepSize);
    this.gamma = settings.gamma ?? 0.1;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    return base * this.gamma ** Math.floor(epoch / this.stepSize);
  }
}

/** Multiplies the rate by `gamma` at each milestone. */
export class MultiStepLR extends LRScheduler {
  readonly milestones: readonly number[];
  readonly gamma: number;

  constructor(
    optimizer: Optimizer,
    milestones:
      | readonly number[]
      | { readonly milestones: readonly number[]; readonly gamma?: number },
    gamma?: number,
    ...surplus: []
  ) {
    super(optimizer, ...surplus);
    const kinds = { milestones: milestonesKind, gamma: anyNumber };
    const settings = argumentsOf('MultiStepLR', kinds, milestones, gamma);
    expectArguments(
      'MultiStepLR',
      { milestones: settings.milestones },
      { milestones: kinds.milestones },
    );
    this.milestones = settings.milestones;
    this.gamma = settings.gamma ?? 0.1;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    return base * this.gamma ** this.milestones.filter((milestone) => milestone <= epoch).length;
  }
}

/** Multiplies the rate by `gamma` every epoch. */
export class ExponentialLR extends LRScheduler {
  readonly gamma: number;

  constructor(optimizer: Optimizer, gamma: number | { readonly gamma: number }, ...surplus: []) {
    super(optimizer, ...surplus);
    const kinds = { gamma: anyNumber };
    const settings = argumentsOf('ExponentialLR', kinds, gamma);
    expectArguments('ExponentialLR', settings, kinds);
    this.gamma = settings.gamma;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    return base * this.gamma ** epoch;
  }
}

export interface LinearLROptions {
  /** 1/3 by default. */
  readonly startFactor?: number;
  /** The factor from `totalIters` epochs on, 1 by default. */
  readonly endFactor?: number;
  /** Epochs until the end factor is reached; 5 by default. */
  readonly totalIters?: number;
}

const linearKinds: OptionKinds<LinearLROptions> = {
  startFactor: anyNumber,
  endFactor: anyNumber,
  totalIters: steps,
};

/** Interpolates the factor linearly from one value to another, as for a warm-up. */
export class LinearLR extends LRScheduler {
  readonly startFactor: number;
  readonly endFactor: number;
  readonly totalIters: number;

  constructor(optimizer: Optimizer, options: LinearLROptions = {}, ...surplus: []) {
    expectOptions('LinearLR', options, linearKinds);
    super(optimizer, ...surplus);
    this.startFactor = options.startFactor ?? 1 / 3;
    this.endFactor = options.endFactor ?? 1;
    this.totalIters = positiveInteger('totalIters', options.totalIters ?? 5);
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    const part = Math.min(epoch, this.totalIters) / this.totalIters;
    return base * (this.startFactor + (this.endFactor - this.startFactor) * part);
  }
}

/** Multiplies the rate by `factor` during the first epochs. */
export class ConstantLR extends LRScheduler {
  readonly factor: number;
  readonly totalIters: number;

  constructor(
    optimizer: Optimizer,
    factor: number | { readonly factor?: number; readonly totalIters?: number } = 1 / 3,
    totalIters?: number,
    ...surplus: []
  ) {
    super(optimizer, ...surplus);
    const kinds = { factor: anyNumber, totalIters: iterations };
    const settings = argumentsOf('ConstantLR', kinds, factor, totalIters);
    this.factor = settings.factor ?? 1 / 3;
    this.totalIters = settings.totalIters ?? 5;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    return epoch < this.totalIters ? base * this.factor : base;
  }
}

/** Decays to 0 over a number of epochs, along a power of the remaining fraction. */
export class PolynomialLR extends LRScheduler {
  readonly totalIters: number;
  readonly power: number;

  constructor(
    optimizer: Optimizer,
    totalIters: number | { readonly totalIters?: number; readonly power?: number } = 5,
    power?: number,
    ...surplus: []
  ) {
    super(optimizer, ...surplus);
    const kinds = { totalIters: steps, power: anyNumber };
    const settings = argumentsOf('PolynomialLR', kinds, totalIters, power);
    this.totalIters = settings.totalIters ?? 5;
    this.power = settings.power ?? 1;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    return base * (1 - Math.min(epoch, this.totalIters) / this.totalIters) ** this.power;
  }
}

/** Multiplies the rate by the factors of all epochs so far, starting with epoch 1. */
export class MultiplicativeLR extends LRScheduler {
  protected readonly factors: readonly Factor[];
  /** For each group, the last epoch requested, and the product up to it. */
  protected readonly reached: number[];
  protected readonly products: number[];

  constructor(
    optimizer: Optimizer,
    factor: LambdaOptions['lrLambda'] | LambdaOptions,
    ...surplus: []
  ) {
    super(optimizer, ...surplus);
    this.factors = factorsOf('MultiplicativeLR', optimizer, factor);
    this.reached = this.factors.map(() => 0);
    this.products = this.factors.map(() => 1);
    this.apply();
  }

  override rate(base: number, epoch: number, group: number): number {
    const isBehind = this.reached[group]! <= epoch;
    let at = isBehind ? this.reached[group]! : 0;
    let product = isBehind ? this.products[group]! : 1;
    while (at < epoch) {
      at++;
      product *= factorAt('MultiplicativeLR', this.factors[group]!, at);
    }
    this.reached[group] = at;
    this.products[group] = product;
    return base * product;
  }
}

/** Decays to `etaMin` over `tMax` epochs along half a cosine, then rises again. */
export class CosineAnnealingLR extends LRScheduler {
  readonly tMax: number;
  readonly etaMin: number;

  constructor(
    optimizer: Optimizer,
    tMax: number | { readonly tMax: number; readonly etaMin?: number },
    etaMin?: number,
    ...surplus: []
  ) {
    super(optimizer, ...surplus);
    const kinds = { tMax: steps, etaMin: anyNumber };
    const settings = argumentsOf('CosineAnnealingLR', kinds, tMax, etaMin);
    this.tMax = positiveInteger('tMax', settings.tMax);
    this.etaMin = settings.etaMin ?? 0;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    return cosine(base, this.etaMin, epoch / this.tMax);
  }
}

/** Repeats a half cosine from the peak: the first lasts `t0` epochs, each next one `tMult` times as long. */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  readonly t0: number;
  readonly tMult: number;
  readonly etaMin: number;

  constructor(
    optimizer: Optimizer,
    t0: number | { readonly t0: number; readonly tMult?: number; readonly etaMin?: number },
    tMult?: number,
    etaMin?: number,
    ...surplus: []
  ) {
    super(optimizer, ...surplus);
    const kinds = { t0: steps, tMult: steps, etaMin: anyNumber };
    const settings = argumentsOf('CosineAnnealingWarmRestarts', kinds, t0, tMult, etaMin);
    this.t0 = positiveInteger('t0', settings.t0);
    this.tMult = settings.tMult ?? 1;
    this.etaMin = settings.etaMin ?? 0;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    const { t0, tMult, etaMin } = this;
    // Not a loop, which a captured step would trace again for each number of restarts.
    if (tMult === 1) return cosine(base, etaMin, (epoch % t0) / t0);
    // The addend corrects rounding at the start of a cycle; elsewhere it is too small to matter.
    const restarts = Math.floor(Math.log((epoch / t0) * (tMult - 1) + 1) / Math.log(tMult) + 1e-9);
    const stretch = tMult ** restarts;
    const since = epoch - (t0 * (stretch - 1)) / (tMult - 1);
    return cosine(base, etaMin, since / (t0 * stretch));
  }
}
