import { ArgumentError } from '../errors/errors.ts';
import { expectArguments, expectNoMore, shown } from '../options/expect-options.ts';
import { anyNumber, arrayOf, that } from '../options/option-kinds.ts';
import { RateNames } from './absent-names.ts';
import { noteChanging } from './changing-rates.ts';
import { Optimizer } from './optimizer.ts';

export type SchedulerState = {
  readonly epoch: number;
  readonly baseRates: readonly number[];
};

const stateKinds = {
  state: that('what stateDict() of such a schedule returned', (value) =>
    Array.isArray((value as Partial<SchedulerState> | null | undefined)?.baseRates),
  ),
};

/**
 * Sets each group's learning rate as a function of the epoch and of the rate the group had when its first schedule
 * was created. The constructor sets the rates of epoch 0; `step()` advances to the next epoch.
 */
export abstract class LRScheduler extends (RateNames as new () => object) {
  readonly optimizer: Optimizer;
  // No private names: capture supports ordinary fields only.
  protected baseRates: readonly number[];
  protected epochs = 0;

  constructor(optimizer: Optimizer, ...surplus: []) {
    super();
    expectNoMore(new.target.name, surplus);
    expectOptimizer(optimizer);
    this.optimizer = optimizer;
    // Schedules created later start from the same rates.
    this.baseRates = optimizer.groups.map((group) => {
      noteChanging(group, 'lr');
      group.initialLr ??= group.lr;
      return group.initialLr;
    });
  }

  /** The number of steps taken. */
  get epoch(): number {
    return this.epochs;
  }

  /** The current rates, one per group. */
  get lastLr(): readonly number[] {
    return this.optimizer.groups.map(({ lr }) => lr);
  }

  /** PyTorch's name for `lastLr`. */
  getLastLr(): readonly number[] {
    return this.lastLr;
  }

  step(): void {
    this.epochs++;
    this.apply();
  }

  /** Returns the rate of a group at an epoch. */
  abstract rate(base: number, epoch: number, group: number): number;

  /** Sets the rates of the current epoch. Constructors call it last. */
  protected apply(): void {
    // Groups added later keep their rates, as in PyTorch.
    this.baseRates.forEach((base, i) => {
      this.optimizer.groups[i]!.lr = this.rate(base, this.epochs, i);
    });
  }

  stateDict(): SchedulerState {
    return { epoch: this.epochs, baseRates: [...this.baseRates] };
  }

  loadStateDict(state: SchedulerState): void {
    expectArguments('loadStateDict', { state }, stateKinds);
    if (state.baseRates.length !== this.baseRates.length) {
      throw new ArgumentError({
        what: 'loadStateDict: a schedule of other groups',
        given: `${state.baseRates.length} rates`,
        expected: `${this.baseRates.length} rates, one per parameter group`,
        remedy: 'load the state of a schedule of the same optimizer',
      });
    }
    this.epochs = state.epoch;
    this.baseRates = [...state.baseRates];
    this.apply();
  }
}

export function positiveInteger(name: string, value: number): number {
  if (Number.isInteger(value) && value > 0) return value;
  throw new ArgumentError({
    what: `scheduler: ${name} out of range`,
    given: `${name} = ${shown(value)}`,
    expected: 'an integer above 0',
    remedy: `pass ${name} as a number of steps`,
  });
}

/** Interpolates from `start` to `end` along half a cosine wave as `part` goes from 0 to 1. */
export function cosine(start: number, end: number, part: number): number {
  return end + ((start - end) * (1 + Math.cos(Math.PI * part))) / 2;
}

/** Options of schedules that also change the momentum. */
export interface MomentumCycle {
  /** Moves the momentum opposite to the rate; true by default if the optimizer has one. */
  readonly cycleMomentum?: boolean;
  readonly baseMomentum?: number;
  readonly maxMomentum?: number;
}

/** Returns a group's momentum, or its first beta; null if it has neither. */
function momentumOf(group: object): number | null {
  if ('betas' in group) return (group.betas as readonly [number, number])[0];
  return 'momentum' in group ? (group.momentum as number) : null;
}

/**
 * Whether a schedule moves the momentum: as requested, or by default if the optimizer has one (even 0, which then
 * changes, as in PyTorch). Throws ArgumentError if requested for an optimizer without momentum.
 */
export function cyclesMomentum(
  name: string,
  optimizer: Optimizer,
  requested: boolean | undefined,
): boolean {
  const has = optimizer.groups.every((group) => momentumOf(group) !== null);
  if (requested && !has) {
    throw new ArgumentError({
      what: `${name}: the optimizer has no momentum`,
      given: `cycleMomentum: true for ${optimizer.constructor.name}`,
      expected: 'an optimizer with momentum or betas',
      remedy: 'leave cycleMomentum out',
    });
  }
  if (!(requested ?? has)) return false;
  // Marked when the schedule is created, because a step that marks them can't be saved.
  for (const group of optimizer.groups) {
    if ('betas' in group) noteChanging(group, 'betas', '0');
    else noteChanging(group, 'momentum');
  }
  return true;
}

export function setMomentum(group: object, value: number): void {
  if ('betas' in group) {
    const [, second] = group.betas as readonly [number, number];
    Object.assign(group, { betas: [value, second] });
  } else {
    Object.assign(group, { momentum: value });
  }
}

/** Throws ArgumentError unless the value is an optimizer. */
export function expectOptimizer(value: unknown): void {
  if (value instanceof Optimizer) return;
  throw new ArgumentError({
    what: 'scheduler: not an optimizer',
    given: shown(value),
    expected: 'the optimizer whose rates it sets',
    remedy:
      'new optim.StepLR(optimizer, 10), with optimizer = new optim.SGD(model.parameters(), { lr: 0.1 })',
  });
}

const composedKinds = {
  schedulers: arrayOf(that('a schedule', (value) => value instanceof LRScheduler)),
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
    ...surplus: []
  ) {
    super(optimizer, ...surplus);
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

  constructor(schedulers: readonly LRScheduler[], ...surplus: []) {
    expectArguments('ChainedScheduler', { schedulers }, composedKinds);
    const [first] = schedulers;
    if (!first) throw noSchedules('ChainedScheduler');
    super(first.optimizer, ...surplus);
    expectOwn('ChainedScheduler', first.optimizer, schedulers);
    this.schedulers = schedulers;
    this.apply();
  }

  override rate(base: number, epoch: number, group: number): number {
    if (base === 0) return 0;
    return this.schedulers.reduce(
      (rate, schedule) => rate * (schedule.rate(base, epoch, group) / base),
      base,
    );
  }
}

function expectOwn(name: string, optimizer: Optimizer, schedulers: readonly LRScheduler[]): void {
  expectArguments(name, { schedulers }, composedKinds);
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
