import { ArgumentError } from '../errors/errors.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { arrayOf, count, either, nonNegativeNumber, oneOf } from '../options/option-kinds.ts';
import type { Optimizer } from './optimizer.ts';
import { LRScheduler, type SchedulerState } from './scheduler.ts';

export interface SWALROptions {
  /** The rate at the end, for all groups or one per group. */
  readonly swaLr: number | readonly number[];
  /** The number of epochs to go from the current rate to `swaLr`; 10 by default. */
  readonly annealEpochs?: number;
  readonly annealStrategy?: 'cos' | 'linear';
}

const swaKinds: OptionKinds<SWALROptions> = {
  swaLr: either(nonNegativeNumber, arrayOf(nonNegativeNumber)),
  annealEpochs: count(0),
  annealStrategy: oneOf('cos', 'linear'),
};

/**
 * Anneals the rates to a constant, for averaging weights. Starts from the rates at its first step, so another schedule
 * may set them until then.
 */
export class SWALR extends LRScheduler {
  readonly swaLrs: readonly number[];
  readonly annealEpochs: number;
  readonly annealStrategy: 'cos' | 'linear';

  constructor(optimizer: Optimizer, options: SWALROptions, ...surplus: []) {
    super(optimizer, ...surplus);
    expectOptions('SWALR', options, swaKinds);
    const { swaLr, annealEpochs = 10, annealStrategy = 'cos' } = options;
    expectArguments('SWALR', { swaLr }, { swaLr: swaKinds.swaLr });
    const rates = typeof swaLr === 'number' ? optimizer.groups.map(() => swaLr) : swaLr;
    if (rates.length !== optimizer.groups.length) {
      throw new ArgumentError({
        what: 'SWALR: not one rate per group',
        given: `${rates.length} rates for ${optimizer.groups.length} groups`,
        expected: 'one rate, or one per parameter group',
        remedy: 'pass a single rate for all groups',
      });
    }
    this.swaLrs = rates;
    this.annealEpochs = annealEpochs;
    this.annealStrategy = annealStrategy;
    this.apply();
  }

  /** The completed fraction of the annealing at an epoch. */
  private part(epoch: number): number {
    const passed = Math.max(0, Math.min(1, epoch / Math.max(1, this.annealEpochs)));
    return this.annealStrategy === 'cos' ? (1 - Math.cos(Math.PI * passed)) / 2 : passed;
  }

  /** Continues from the current rate, as PyTorch does: another schedule may have set it. */
  override rate(_base: number, epoch: number, group: number): number {
    const at = this.annealEpochs === 0 ? Math.max(1, epoch) : epoch;
    const [before, now] = [this.part(at - 1), this.part(at)];
    const goal = this.swaLrs[group]!;
    const current = this.optimizer.groups[group]!.lr;
    const start = before === 1 ? goal : (current - before * goal) / (1 - before);
    return goal * now + start * (1 - now);
  }

  /** Doesn't set the rates: the optimizer's own state already contains those of the epoch. */
  override loadStateDict(state: SchedulerState): void {
    const { groups } = this.optimizer;
    const rates = groups.map(({ lr }) => lr);
    super.loadStateDict(state);
    groups.forEach((group, i) => {
      group.lr = rates[i]!;
    });
  }
}
