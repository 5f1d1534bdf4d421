/** Learning rate schedules, by PyTorch's names and formulas. */

import { ArgumentError } from '../errors/errors.ts';
import { expectFunction } from '../options/expect-arguments.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyNumber, arrayOf, callback, count, either } from '../options/option-kinds.ts';
import type { Optimizer } from './optimizer.ts';
import { cosine, LRScheduler, positiveInteger } from './scheduler.ts';

type Factor = (epoch: number) => number;

const factorKinds = { factor: either(callback, arrayOf(callback)) };

/** Multiplies the initial rate by a function of the epoch, one for all groups or one per group. */
export class LambdaLR extends LRScheduler {
  protected readonly factors: readonly Factor[];

  constructor(optimizer: Optimizer, factor: Factor | readonly Factor[]) {
    super(optimizer);
    expectArguments('LambdaLR', { factor }, factorKinds);
    this.factors = typeof factor === 'function' ? optimizer.groups.map(() => factor) : factor;
    if (this.factors.length !== optimizer.groups.length) {
      throw new ArgumentError({
        what: 'LambdaLR: not one function per group',
        given: `${this.factors.length} functions for ${optimizer.groups.length} groups`,
        expected: 'one function, or one per parameter group',
        remedy: 'pass a single function for all groups',
      });
    }
    this.apply();
  }

  override rate(base: number, epoch: number, group: number): number {
    return base * this.factors[group]!(epoch);
  }
}

/** Multiplies the rate by `gamma` every `stepSize` epochs. */
export class StepLR extends LRScheduler {
  readonly stepSize: number;
  readonly gamma: number;

  constructor(optimizer: Optimizer, stepSize: number, gamma = 0.1) {
    super(optimizer);
    expectArguments('StepLR', { gamma }, { gamma: anyNumber });
    this.stepSize = positiveInteger('stepSize', stepSize);
    this.gamma = gamma;
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

  constructor(optimizer: Optimizer, milestones: readonly number[], gamma = 0.1) {
    super(optimizer);
    expectArguments(
      'MultiStepLR',
      { milestones, gamma },
      { milestones: arrayOf(anyNumber), gamma: anyNumber },
    );
    this.milestones = milestones;
    this.gamma = gamma;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    return base * this.gamma ** this.milestones.filter((milestone) => milestone <= epoch).length;
  }
}

/** Multiplies the rate by `gamma` every epoch. */
export class ExponentialLR extends LRScheduler {
  readonly gamma: number;

  constructor(optimizer: Optimizer, gamma: number) {
    super(optimizer);
    expectArguments('ExponentialLR', { gamma }, { gamma: anyNumber });
    this.gamma = gamma;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    return base * this.gamma ** epoch;
  }
}

export interface LinearLROptions {
  /** 1/3 by default. */
  readonly startFactor?: number;
  readonly endFactor?: number;
  /** Epochs until the end factor is reached; 5 by default. */
  readonly totalIters?: number;
}

const linearKinds: OptionKinds<LinearLROptions> = {
  startFactor: anyNumber,
  endFactor: anyNumber,
  totalIters: count(1),
};

/** Interpolates the factor linearly from one value to another, as for a warm-up. */
export class LinearLR extends LRScheduler {
  readonly startFactor: number;
  readonly endFactor: number;
  readonly totalIters: number;

  constructor(optimizer: Optimizer, options: LinearLROptions = {}) {
    expectOptions('LinearLR', options, linearKinds);
    super(optimizer);
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

/** Multiplies the rate by a factor for a number of epochs. */
export class ConstantLR extends LRScheduler {
  readonly factor: number;
  readonly totalIters: number;

  constructor(optimizer: Optimizer, factor = 1 / 3, totalIters = 5) {
    super(optimizer);
    expectArguments('ConstantLR', { factor }, { factor: anyNumber });
    this.factor = factor;
    this.totalIters = positiveInteger('totalIters', totalIters);
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

  constructor(optimizer: Optimizer, totalIters = 5, power = 1) {
    super(optimizer);
    expectArguments('PolynomialLR', { power }, { power: anyNumber });
    this.totalIters = positiveInteger('totalIters', totalIters);
    this.power = power;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    return base * (1 - Math.min(epoch, this.totalIters) / this.totalIters) ** this.power;
  }
}

/** Multiplies the rate by the factors of all epochs so far, starting with epoch 1. */
export class MultiplicativeLR extends LRScheduler {
  protected readonly factor: Factor;
  /** Products up to each epoch requested so far. */
  protected readonly products: number[] = [1];

  constructor(optimizer: Optimizer, factor: Factor) {
    super(optimizer);
    expectFunction('MultiplicativeLR', factor);
    this.factor = factor;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    for (let at = this.products.length; at <= epoch; at++) {
      this.products.push(this.products[at - 1]! * this.factor(at));
    }
    return base * this.products[epoch]!;
  }
}

/** Decays to `etaMin` over `tMax` epochs along half a cosine, then rises again. */
export class CosineAnnealingLR extends LRScheduler {
  readonly tMax: number;
  readonly etaMin: number;

  constructor(optimizer: Optimizer, tMax: number, etaMin = 0) {
    super(optimizer);
    expectArguments('CosineAnnealingLR', { etaMin }, { etaMin: anyNumber });
    this.tMax = positiveInteger('tMax', tMax);
    this.etaMin = etaMin;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    return cosine(base, this.etaMin, epoch / this.tMax);
  }
}

/** Repeated half cosines from the peak: the first lasts `t0` epochs, each next one `tMult` times as long. */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  readonly t0: number;
  readonly tMult: number;
  readonly etaMin: number;

  constructor(optimizer: Optimizer, t0: number, tMult = 1, etaMin = 0) {
    super(optimizer);
    expectArguments('CosineAnnealingWarmRestarts', { etaMin }, { etaMin: anyNumber });
    this.t0 = positiveInteger('t0', t0);
    this.tMult = positiveInteger('tMult', tMult);
    this.etaMin = etaMin;
    this.apply();
  }

  override rate(base: number, epoch: number): number {
    let [since, length] = [epoch, this.t0];
    while (since >= length) {
      since -= length;
      length *= this.tMult;
    }
    return cosine(base, this.etaMin, since / length);
  }
}
