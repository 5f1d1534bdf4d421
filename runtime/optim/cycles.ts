/** Cyclic schedules; momentum moves opposite to the rate. */

import { ArgumentError } from '../errors/errors.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import {
  anyNumber,
  arrayOf,
  callback,
  count,
  either,
  flag,
  oneOf,
  orNull,
  positive,
  probability,
} from '../options/option-kinds.ts';
import { withDefaults } from '../options/with-defaults.ts';
import type { Optimizer } from './optimizer.ts';
import {
  cosine,
  cyclesMomentum,
  LRScheduler,
  type MomentumCycle,
  positiveInteger,
  setMomentum,
} from './scheduler.ts';

export interface OneCycleLROptions extends MomentumCycle {
  /** The peak rate, for all groups or one per group. */
  readonly maxLr: number | readonly number[];
  /** The number of steps in the cycle; alternatively `epochs` and `stepsPerEpoch`. */
  readonly totalSteps?: number;
  readonly epochs?: number;
  readonly stepsPerEpoch?: number;
  /** Fraction of the steps in which the rate rises; 0.3 by default. */
  readonly pctStart?: number;
  readonly annealStrategy?: 'cos' | 'linear';
  /** The initial rate is maxLr / divFactor; 25 by default. */
  readonly divFactor?: number;
  /** The final rate is the initial rate / finalDivFactor; 1e4 by default. */
  readonly finalDivFactor?: number;
  /** Whether the rate first falls back to the initial rate, in as many steps as it rose, and then to the final rate. */
  readonly threePhase?: boolean;
}

/** A rate for all groups, or one per group. */
const ratesKind = either(anyNumber, arrayOf(anyNumber));

const momentumKinds: OptionKinds<MomentumCycle> = {
  cycleMomentum: flag,
  baseMomentum: anyNumber,
  maxMomentum: anyNumber,
};

const oneCycleKinds: OptionKinds<OneCycleLROptions> = {
  ...momentumKinds,
  maxLr: ratesKind,
  totalSteps: count(1),
  epochs: count(1),
  stepsPerEpoch: count(1),
  pctStart: probability,
  annealStrategy: oneOf('cos', 'linear'),
  divFactor: positive,
  finalDivFactor: positive,
  threePhase: flag,
};

/** One cycle (Smith and Topin): up to the peak, then far below the initial rate. Momentum 0.95 → 0.85 → 0.95. */
export class OneCycleLR extends LRScheduler {
  protected readonly options: Required<Omit<OneCycleLROptions, 'epochs' | 'stepsPerEpoch'>>;

  constructor(optimizer: Optimizer, options: OneCycleLROptions, ...surplus: []) {
    expectOptions('OneCycleLR', options, oneCycleKinds);
    super(optimizer, ...surplus);
    const { maxLr, epochs = Number.NaN, stepsPerEpoch = Number.NaN, ...others } = options;
    expectArguments('OneCycleLR', { maxLr }, { maxLr: ratesKind });
    const defaults = {
      totalSteps: positiveInteger('totalSteps', others.totalSteps ?? epochs * stepsPerEpoch),
      pctStart: 0.3,
      annealStrategy: 'cos',
      divFactor: 25,
      finalDivFactor: 1e4,
      baseMomentum: 0.85,
      maxMomentum: 0.95,
      threePhase: false,
      cycleMomentum: cyclesMomentum('OneCycleLR', optimizer, options.cycleMomentum),
    };
    this.options = withDefaults(defaults, { maxLr, ...others });
    this.apply();
    optimizer.prepareState();
  }

  override step(): void {
    const { totalSteps } = this.options;
    if (this.epoch >= totalSteps) {
      throw new ArgumentError({
        what: 'OneCycleLR: the cycle is over',
        given: `step ${this.epoch + 1} of a cycle of ${totalSteps}`,
        expected: `at most ${totalSteps} calls of step()`,
        remedy: 'pass totalSteps as epochs times steps per epoch',
      });
    }
    super.step();
  }

  protected override apply(): void {
    super.apply();
    const { cycleMomentum, baseMomentum, maxMomentum } = this.options;
    if (!cycleMomentum) return;
    const momentum = this.between(this.epoch, maxMomentum, baseMomentum, maxMomentum);
    for (const group of this.optimizer.groups) setMomentum(group, momentum);
  }

  override rate(_base: number, epoch: number, group: number): number {
    const { maxLr, divFactor, finalDivFactor } = this.options;
    const top = typeof maxLr === 'number' ? maxLr : maxLr[group]!;
    const start = top / divFactor;
    return this.between(epoch, start, top, start / finalDivFactor);
  }

  protected between(epoch: number, start: number, top: number, end: number): number {
    const { totalSteps, pctStart, annealStrategy, threePhase } = this.options;
    const anneal = annealStrategy === 'cos' ? cosine : linear;
    const peak = pctStart * totalSteps - 1;
    const rise = { until: peak, from: start, to: top };
    const fall = threePhase
      ? [
          { until: 2 * peak, from: top, to: start },
          { from: start, to: end },
        ]
      : [{ from: top, to: end }];
    let since = 0;
    for (const { until = totalSteps - 1, from, to } of [rise, ...fall]) {
      const isOwn = until > since && epoch <= until;
      if (isOwn || until === totalSteps - 1) {
        return anneal(from, to, (epoch - since) / (until - since));
      }
      since = until;
    }
    return end;
  }
}

function linear(from: number, to: number, part: number): number {
  return from + (to - from) * part;
}

export interface CyclicLROptions extends MomentumCycle {
  /** The lowest rate. */
  readonly baseLr: number | readonly number[];
  /** The highest rate. */
  readonly maxLr: number | readonly number[];
  /** The number of steps in the rising half; 2000 by default. */
  readonly stepSizeUp?: number;
  /** The number of steps in the falling half; `stepSizeUp` by default. */
  readonly stepSizeDown?: number;
  /** `triangular2` halves the amplitude each cycle, `exp_range` multiplies it by gammaᵉᵖᵒᶜʰ. */
  readonly mode?: 'triangular' | 'triangular2' | 'exp_range';
  readonly gamma?: number;
  /** Returns the factor of the amplitude, in place of the mode's, given the cycle (counted from 1) or the step. */
  readonly scaleFn?: ((at: number) => number) | null;
  readonly scaleMode?: 'cycle' | 'iterations';
}

const cyclicKinds: OptionKinds<CyclicLROptions> = {
  ...momentumKinds,
  baseLr: ratesKind,
  maxLr: ratesKind,
  stepSizeUp: count(1),
  stepSizeDown: count(1),
  mode: oneOf('triangular', 'triangular2', 'exp_range'),
  gamma: anyNumber,
  scaleFn: orNull(callback),
  scaleMode: oneOf('cycle', 'iterations'),
};

/** Triangular cycles between two rates (Smith). Momentum moves between 0.8 and 0.9, opposite to the rate. */
export class CyclicLR extends LRScheduler {
  protected readonly options: Required<CyclicLROptions>;

  constructor(optimizer: Optimizer, options: CyclicLROptions, ...surplus: []) {
    expectOptions('CyclicLR', options, cyclicKinds);
    super(optimizer, ...surplus);
    const { baseLr, maxLr } = options;
    expectArguments('CyclicLR', { baseLr, maxLr }, { baseLr: ratesKind, maxLr: ratesKind });
    const stepSizeUp = positiveInteger('stepSizeUp', options.stepSizeUp ?? 2000);
    const defaults = {
      stepSizeUp,
      stepSizeDown: stepSizeUp,
      mode: 'triangular',
      gamma: 1,
      scaleFn: null,
      scaleMode: 'cycle',
      baseMomentum: 0.8,
      maxMomentum: 0.9,
      cycleMomentum: cyclesMomentum('CyclicLR', optimizer, options.cycleMomentum),
    };
    this.options = withDefaults(defaults, options);
    positiveInteger('stepSizeDown', this.options.stepSizeDown);
    this.apply();
    optimizer.prepareState();
  }

  protected override apply(): void {
    super.apply();
    const { cycleMomentum, baseMomentum, maxMomentum } = this.options;
    if (!cycleMomentum) return;
    const height = this.height(this.epoch);
    const momentum = maxMomentum - (maxMomentum - baseMomentum) * height;
    for (const group of this.optimizer.groups) setMomentum(group, momentum);
  }

  override rate(_base: number, epoch: number, group: number): number {
    const { baseLr, maxLr } = this.options;
    const of = (rates: number | readonly number[]) =>
      typeof rates === 'number' ? rates : rates[group]!;
    return of(baseLr) + (of(maxLr) - of(baseLr)) * this.height(epoch);
  }

  /** Returns the position in the cycle, 0 at the base and 1 at the peak, scaled by the mode. */
  protected height(epoch: number): number {
    const { stepSizeUp, stepSizeDown, mode, gamma, scaleFn, scaleMode } = this.options;
    const length = stepSizeUp + stepSizeDown;
    const cycle = Math.floor(epoch / length);
    const since = epoch - cycle * length;
    const height = since <= stepSizeUp ? since / stepSizeUp : (length - since) / stepSizeDown;
    if (scaleFn) return height * scaleFn(scaleMode === 'cycle' ? cycle + 1 : epoch);
    if (mode === 'triangular2') return height / 2 ** cycle;
    return mode === 'exp_range' ? height * gamma ** epoch : height;
  }
}
