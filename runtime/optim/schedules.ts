/** Learning rate schedules, by PyTorch's names and formulas. */

import { ArgumentError } from '../errors/errors.ts';
import type { Optimizer } from './optimizer.ts';
import { cosine, LRScheduler, positiveInteger } from './scheduler.ts';

type Factor = (epoch: number) => number;

/** The first rate times a factor; one function for all groups, or one per group. */
export class LambdaLR extends LRScheduler {
  readonly #factors: readonly Factor[];

  constructor(optimizer: Optimizer, factor: Factor | readonly Factor[]) {
    super(optimizer);
    this.#factors = typeof factor === 'function' ? optimizer.groups.map(() => factor) : factor;
    if (this.#factors.length !== optimizer.groups.length) {
      throw new ArgumentError({
        what: 'LambdaLR: not one function per group',
        given: `${this.#factors.length} functions for ${optimizer.groups.length} groups`,
        expected: 'one function, or one per parameter group',
        remedy: 'pass a single function for all groups',
      });
    }
    this.apply();
  }

  protected override rate(base: number, epoch: number, group: number): number {
    return base * this.#factors[group]!(epoch);
  }
}

/** Times `gamma` every `stepSize` epochs. */
export class StepLR extends LRScheduler {
  readonly stepSize: number;
  readonly gamma: number;

  constructor(optimizer: Optimizer, stepSize: number, gamma = 0.1) {
    super(optimizer);
    this.stepSize = positiveInteger('stepSize', stepSize);
    this.gamma = gamma;
    this.apply();
  }

  protected override rate(base: number, epoch: number): number {
    return base * this.gamma ** Math.floor(epoch / this.stepSize);
  }
}

/** Times `gamma` at each milestone. */
export class MultiStepLR extends LRScheduler {
  readonly milestones: readonly number[];
  readonly gamma: number;

  constructor(optimizer: Optimizer, milestones: readonly number[], gamma = 0.1) {
    super(optimizer);
    this.milestones = milestones;
    this.gamma = gamma;
    this.apply();
  }

  protected override rate(base: number, epoch: number): number {
    return base * this.gamma ** this.milestones.filter((milestone) => milestone <= epoch).length;
  }
}

/** Times `gamma` every epoch. */
export class ExponentialLR extends LRScheduler {
  readonly gamma: number;

  constructor(optimizer: Optimizer, gamma: number) {
    super(optimizer);
    this.gamma = gamma;
    this.apply();
  }

  protected override rate(base: number, epoch: number): number {
    return base * this.gamma ** epoch;
  }
}

export interface LinearLROptions {
  /** 1/3 when left out. */
  readonly startFactor?: number;
  readonly endFactor?: number;
  /** Epochs until the end factor holds; 5 when left out. */
  readonly totalIters?: number;
}

/** A factor that goes linearly from one to another: a warm-up. */
export class LinearLR extends LRScheduler {
  readonly startFactor: number;
  readonly endFactor: number;
  readonly totalIters: number;

  constructor(optimizer: Optimizer, options: LinearLROptions = {}) {
    super(optimizer);
    this.startFactor = options.startFactor ?? 1 / 3;
    this.endFactor = options.endFactor ?? 1;
    this.totalIters = positiveInteger('totalIters', options.totalIters ?? 5);
    this.apply();
  }

  protected override rate(base: number, epoch: number): number {
    const part = Math.min(epoch, this.totalIters) / this.totalIters;
    return base * (this.startFactor + (this.endFactor - this.startFactor) * part);
  }
}

/** Down to `etaMin` in `tMax` epochs along half a cosine, and up again after that. */
export class CosineAnnealingLR extends LRScheduler {
  readonly tMax: number;
  readonly etaMin: number;

  constructor(optimizer: Optimizer, tMax: number, etaMin = 0) {
    super(optimizer);
    this.tMax = positiveInteger('tMax', tMax);
    this.etaMin = etaMin;
    this.apply();
  }

  protected override rate(base: number, epoch: number): number {
    return cosine(base, this.etaMin, epoch / this.tMax);
  }
}

/** Half cosines from the top again and again: the first takes `t0` epochs, each `tMult` times the last. */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  readonly t0: number;
  readonly tMult: number;
  readonly etaMin: number;

  constructor(optimizer: Optimizer, t0: number, tMult = 1, etaMin = 0) {
    super(optimizer);
    this.t0 = positiveInteger('t0', t0);
    this.tMult = positiveInteger('tMult', tMult);
    this.etaMin = etaMin;
    this.apply();
  }

  protected override rate(base: number, epoch: number): number {
    let [since, length] = [epoch, this.t0];
    while (since >= length) {
      since -= length;
      length *= this.tMult;
    }
    return cosine(base, this.etaMin, since / length);
  }
}

export interface OneCycleLROptions {
  /** The top, for all groups or one per group. */
  readonly maxLr: number | readonly number[];
  readonly totalSteps: number;
  /** Part of the steps that goes up; 0.3 when left out. */
  readonly pctStart?: number;
  readonly annealStrategy?: 'cos' | 'linear';
  /** Starts from maxLr / divFactor; 25 when left out. */
  readonly divFactor?: number;
  /** Ends at the start / finalDivFactor; 1e4 when left out. */
  readonly finalDivFactor?: number;
}

/** Smith and Topin's cycle: up to the top, then down far below the start. Momentum stays as it is. */
export class OneCycleLR extends LRScheduler {
  readonly #options: Required<OneCycleLROptions>;

  constructor(optimizer: Optimizer, options: OneCycleLROptions) {
    super(optimizer);
    positiveInteger('totalSteps', options.totalSteps);
    this.#options = {
      pctStart: 0.3,
      annealStrategy: 'cos',
      divFactor: 25,
      finalDivFactor: 1e4,
      ...options,
    };
    this.apply();
  }

  override step(): void {
    const { totalSteps } = this.#options;
    if (this.epoch + 1 >= totalSteps) {
      throw new ArgumentError({
        what: 'OneCycleLR: the cycle is over',
        given: `step ${this.epoch + 1} of a cycle of ${totalSteps}`,
        expected: `at most ${totalSteps - 1} calls of step()`,
        remedy: 'pass totalSteps as epochs times steps per epoch',
      });
    }
    super.step();
  }

  protected override rate(_base: number, epoch: number, group: number): number {
    const { maxLr, totalSteps, pctStart, divFactor, finalDivFactor } = this.#options;
    const top = typeof maxLr === 'number' ? maxLr : maxLr[group]!;
    const start = top / divFactor;
    const peak = pctStart * totalSteps - 1;
    const between =
      this.#options.annealStrategy === 'cos'
        ? cosine
        : (from: number, to: number, part: number) => from + (to - from) * part;
    if (peak > 0 && epoch <= peak) return between(start, top, epoch / peak);
    return between(top, start / finalDivFactor, (epoch - peak) / (totalSteps - 1 - peak));
  }
}
