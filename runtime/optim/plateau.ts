import { ArgumentError } from '../errors/errors.ts';
import { isNumber } from '../ops/numbers/symbolic-number.ts';
import {
  expectArguments,
  expectNoMore,
  expectOptions,
  type OptionKinds,
} from '../options/expect-options.ts';
import {
  anyNumber,
  anyOperand,
  arrayOf,
  either,
  nonNegativeNumber,
  oneOf,
  that,
} from '../options/option-kinds.ts';
import { withDefaults } from '../options/with-defaults.ts';
import { ScheduleNames } from './absent-names.ts';
import { noteChanging } from './changing-rates.ts';
import type { Optimizer } from './optimizer.ts';
import { expectOptimizer } from './scheduler.ts';

export interface ReduceLROnPlateauOptions {
  /** Whether the metric should decrease (`min`, by default) or increase. */
  readonly mode?: 'min' | 'max';
  /** The factor by which the rates are reduced; 0.1 by default. */
  readonly factor?: number;
  /** The number of tolerated epochs without improvement; 10 by default. */
  readonly patience?: number;
  /** The smallest change of the metric that counts as an improvement; 1e-4 by default. */
  readonly threshold?: number;
  /** Whether the threshold is relative to the best value (`rel`, by default) or absolute. */
  readonly thresholdMode?: 'rel' | 'abs';
  /** Epochs to wait after a reduction; 0 by default. */
  readonly cooldown?: number;
  /** No rate is reduced below this one; 0 by default. */
  readonly minLr?: number | readonly number[];
  /** Smaller reductions are skipped; 1e-8 by default. */
  readonly eps?: number;
}

const plateauKinds: OptionKinds<ReduceLROnPlateauOptions> = {
  mode: oneOf('min', 'max'),
  factor: anyNumber,
  patience: nonNegativeNumber,
  threshold: anyNumber,
  thresholdMode: oneOf('rel', 'abs'),
  cooldown: nonNegativeNumber,
  minLr: either(anyNumber, arrayOf(anyNumber)),
  eps: anyNumber,
};

export type PlateauState = {
  readonly best: number;
  readonly bad: number;
  readonly cooling: number;
};

const stateKinds = {
  state: that('what stateDict() of such a schedule returned', (value) =>
    isNumber((value as Partial<PlateauState> | null | undefined)?.best),
  ),
};

const measureKinds = { measure: anyOperand };

/** Reduces the rates when a metric stops improving. */
export class ReduceLROnPlateau extends (ScheduleNames as new () => object) {
  readonly optimizer: Optimizer;
  readonly #options: Required<ReduceLROnPlateauOptions>;
  #best: number;
  /** Epochs since the best value. */
  #bad = 0;
  /** Remaining cooldown epochs. */
  #cooling = 0;

  constructor(optimizer: Optimizer, options: ReduceLROnPlateauOptions = {}, ...surplus: []) {
    super();
    expectNoMore(new.target.name, surplus);
    expectOptimizer(optimizer);
    expectOptions('ReduceLROnPlateau', options, plateauKinds);
    const { factor = 0.1 } = options;
    if (!(factor < 1)) {
      throw new ArgumentError({
        what: 'ReduceLROnPlateau: factor out of range',
        given: `factor = ${factor}`,
        expected: 'a number below 1',
        remedy: 'pass the factor that rates are multiplied by, such as 0.1',
      });
    }
    this.optimizer = optimizer;
    for (const group of optimizer.groups) noteChanging(group, 'lr');
    const defaults = {
      mode: 'min',
      factor,
      patience: 10,
      threshold: 1e-4,
      thresholdMode: 'rel',
      cooldown: 0,
      minLr: 0,
      eps: 1e-8,
    };
    this.#options = withDefaults(defaults, options);
    this.#best = this.#options.mode === 'min' ? Infinity : -Infinity;
  }

  /** The current rates, one per group. */
  get lastLr(): readonly number[] {
    return this.optimizer.groups.map(({ lr }) => lr);
  }

  /** PyTorch's name for `lastLr`. */
  getLastLr(): readonly number[] {
    return this.lastLr;
  }

  /** Reports the metric of a finished epoch. */
  step(measure: number): void {
    expectArguments('ReduceLROnPlateau.step', { measure }, measureKinds);
    if (this.#better(measure)) {
      this.#best = measure;
      this.#bad = 0;
    } else {
      this.#bad++;
    }
    if (this.#cooling > 0) {
      this.#cooling--;
      this.#bad = 0;
    }
    if (this.#bad <= this.#options.patience) return;
    this.#reduce();
    this.#cooling = this.#options.cooldown;
    this.#bad = 0;
  }

  stateDict(): PlateauState {
    return { best: this.#best, bad: this.#bad, cooling: this.#cooling };
  }

  loadStateDict(state: PlateauState): void {
    expectArguments('loadStateDict', { state }, stateKinds);
    this.#best = state.best;
    this.#bad = state.bad;
    this.#cooling = state.cooling;
  }

  #better(measure: number): boolean {
    const { mode, threshold, thresholdMode } = this.#options;
    const sign = mode === 'min' ? -1 : 1;
    if (thresholdMode === 'abs') return sign * (measure - this.#best) > threshold;
    // The best value is infinite before the first epoch, and so is the product.
    return sign * (measure - this.#best * (1 + sign * threshold)) > 0;
  }

  #reduce(): void {
    const { factor, minLr, eps } = this.#options;
    this.optimizer.groups.forEach((group, i) => {
      const least = typeof minLr === 'number' ? minLr : (minLr[i] ?? 0);
      const rate = Math.max(group.lr * factor, least);
      if (group.lr - rate > eps) group.lr = rate;
    });
  }
}
