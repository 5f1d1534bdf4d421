import { ArgumentError } from '../../errors/errors.ts';
import { expectArguments } from '../../options/expect-options.ts';
import { anyNumber, arrayOf, that } from '../../options/option-kinds.ts';
import type { Optimizer } from '../optimizer.ts';
import { LRScheduler } from './scheduler.ts';

const kinds = {
  schedulers: arrayOf(that('a schedule', (own) => own instanceof LRScheduler)),
};

const milestoneKinds = { milestones: arrayOf(anyNumber) };

/** Runs schedules in sequence: schedule i + 1 starts at milestone i, which is its epoch 0. */
export class SequentialLR extends LRScheduler {
  readonly schedulers: readonly LRScheduler[];
  readonly milestones: readonly number[];

  constructor(
    optimizer: Optimizer,
    schedulers: readonly LRScheduler[],
    milestones: readonly number[],
  ) {
    super(optimizer);
    expectOwn('SequentialLR', optimizer, schedulers);
    expectArguments('SequentialLR', { milestones }, milestoneKinds);
    if (milestones.length !== schedulers.length - 1) {
      throw new ArgumentError({
        what: 'SequentialLR: not one milestone between two schedules',
        given: `${milestones.length} milestones for ${schedulers.length} schedules`,
        expected: `${schedulers.length - 1} milestones`,
        remedy: 'pass the epochs at which the second and later schedules begin',
      });
    }
    this.schedulers = schedulers;
    this.milestones = milestones;
    this.apply();
  }

  override rate(base: number, epoch: number, group: number): number {
    const at = this.milestones.filter((milestone) => milestone <= epoch).length;
    const start = at > 0 ? this.milestones[at - 1]! : 0;
    return this.schedulers[at]!.rate(base, epoch - start, group);
  }
}

/** Runs schedules simultaneously: their factors are multiplied. */
export class ChainedScheduler extends LRScheduler {
  readonly schedulers: readonly LRScheduler[];

  constructor(schedulers: readonly LRScheduler[]) {
    expectArguments('ChainedScheduler', { schedulers }, kinds);
    const [first] = schedulers;
    if (!first) throw noSchedules('ChainedScheduler');
    super(first.optimizer);
    expectOwn('ChainedScheduler', first.optimizer, schedulers);
    this.schedulers = schedulers;
    this.apply();
  }

  override rate(base: number, epoch: number, group: number): number {
    if (base === 0) return 0;
    return this.schedulers.reduce(
      (rate, own) => rate * (own.rate(base, epoch, group) / base),
      base,
    );
  }
}

function expectOwn(name: string, optimizer: Optimizer, schedulers: readonly LRScheduler[]): void {
  expectArguments(name, { schedulers }, kinds);
  if (schedulers.length === 0) throw noSchedules(name);
  if (schedulers.every((scheduler) => scheduler.optimizer === optimizer)) return;
  throw new ArgumentError({
    what: `${name}: schedules of different optimizers`,
    given: `${schedulers.length} schedules`,
    expected: 'all of one optimizer',
    remedy: 'make each with the same optimizer',
  });
}

function noSchedules(name: string): ArgumentError {
  return new ArgumentError({
    what: `${name}: nothing to follow`,
    given: 'no schedules',
    expected: 'one or more',
    remedy: 'pass the schedules as an array',
  });
}
