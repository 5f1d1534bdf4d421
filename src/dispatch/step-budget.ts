import type { Device } from '../../runtime/device/device.ts';
import { warn } from '../explain/warn-once.ts';
import type { ReadySubgraph } from './current-plan.ts';

/**
 * Exchange rates between bytes and arithmetic: from high, where nearly everything that backward reads is kept, to zero,
 * where everything possible is recomputed. Level 0 precedes the first rate: nothing is recomputed.
 */
const rates = [...Array.from({ length: 9 }, (_, i) => 4 ** (1 - i)), 0];

/** The share of the budget to leave free: no plan includes gradients that wait for others. */
const margin = 0.02;

/** A subgraph whose backward can recompute some of forward. */
export interface Recomputing {
  readonly device: Device;
  /** Returns its plan at this rate; null: recomputes nothing. */
  planAt(rate: number | null): ReadySubgraph;
  /** Makes later runs use the plan at this rate. */
  recomputeAt(rate: number | null): void;
  /** Returns the bytes of inputs that cross a graph break and that backward keeps at this rate. */
  keptInputBytes(rate: number | null): number;
}

/** A step that exceeded its budget. */
export interface BudgetMissed {
  readonly needed: number;
  /**
   * The number of such steps so far. The first shows what steps keep in total; later steps share the budget
   * accordingly.
   */
  readonly count: number;
  /** Whether the process ended the step, so that no call follows. */
  readonly isLast: boolean;
}

/** Current steps: a step ends when the next one begins, or with the process. */
const underWay = new Map<Device, StepBudget>();
/** Errors of steps that missed their budget, to be thrown by the next call of their function. */
const unthrown = new Set<Error>();
let reportsLastStep = false;

/** The last step of a process has no next call: its miss is reported when the process exits. */
function reportLastStepAtExit(): void {
  if (reportsLastStep) return;
  reportsLastStep = true;
  globalThis.process?.once?.('exit', () => {
    for (const budget of underWay.values()) budget.end(true);
    for (const { message } of unthrown) warn(message);
    unthrown.clear();
  });
}

/**
 * The memory budget of a step that runs several subgraphs: a call and everything up to the next one, such as its
 * backward. The subgraphs' saved bytes add up, so they share the budget: with one exchange rate between bytes and
 * arithmetic for all runs, and a higher one for the last runs, whose backward comes first. The bytes of a step are
 * measured; the plans' predictions give the bytes that it saves with other plans.
 */
export class StepBudget {
  readonly #budget: number;
  readonly #onMiss: (missed: BudgetMissed) => Error | null;
  /** Runs of the current step. */
  #runs: Recomputing[] = [];
  /** The device of the current step; null before the first step. */
  #device: Device | null = null;
  /** Bytes allocated at its start. */
  #start = 0;
  /** The error for an earlier step's miss, if it is one. */
  #error: Error | null = null;
  #missedSteps = 0;
  #needed: number | undefined;
  /** How the current step shares the budget. */
  #shares = whole;
  /** The shares for steps of a new kind: those of the last step that missed the budget; null if none has. */
  #usual: Shares | null = null;
  /** Shares by the first run of the step; runs have separate programs for each shape. */
  readonly #known = new WeakMap<Recomputing, Shares>();

  /** `onMiss` is called when a step ends; the next call of the function throws the error that it returns. */
  constructor(budget: number, onMiss: (missed: BudgetMissed) => Error | null) {
    this.#budget = budget;
    this.#onMiss = onMiss;
  }

  /**
   * The bytes that the current step has needed so far, or otherwise the last step; undefined before a step of several
   * runs.
   */
  get needed(): number | undefined {
    if (!this.#device || this.#runs.length < 2) return this.#needed;
    return this.#device.allocator.counter.highest - this.#start;
  }

  /** Called when a call begins, which ends the previous step. */
  begin(): void {
    this.end();
    const error = this.#error;
    if (!error) return;
    this.#error = null;
    unthrown.delete(error);
    throw error;
  }

  /** Called before a subgraph runs. */
  prepare(subgraph: Recomputing): void {
    this.#startOn(subgraph.device);
    if (this.#runs.length === 0) this.#shares = this.#known.get(subgraph) ?? this.#usual ?? whole;
    subgraph.recomputeAt(rateOf(this.#shares, this.#runs.length));
  }

  #startOn(device: Device): void {
    if (this.#device) return;
    const other = underWay.get(device);
    other?.end();
    underWay.set(device, this);
    reportLastStepAtExit();
    this.#device = device;
    const { counter } = device.allocator;
    this.#start = counter.allocated;
    counter.highest = counter.allocated;
  }

  /** Called after a subgraph has run; it keeps what its backward reads. */
  note(subgraph: Recomputing): void {
    this.#runs.push(subgraph);
  }

  /** Ends the current step, if there is one; `isLast`: because the process exits. */
  end(isLast = false): void {
    const device = this.#device;
    if (!device) return;
    const needed = device.allocator.counter.highest - this.#start;
    const runs = this.#runs;
    this.#device = null;
    this.#runs = [];
    underWay.delete(device);
    const [start] = runs;
    if (!start || runs.length < 2) return;
    this.#needed = needed;
    const isMissed = needed > this.#budget;
    if (isMissed) this.#miss(needed, isLast);
    // Keeps the shares found by earlier steps of this kind unless a step exceeds the budget.
    if (!isMissed && (this.#shares.level === 0 || this.#known.has(start))) return;
    this.#share(runs, needed);
    this.#known.set(start, this.#shares);
    if (isMissed) this.#usual = this.#shares;
  }

  #miss(needed: number, isLast: boolean): void {
    const error = this.#onMiss({ needed, count: ++this.#missedSteps, isLast });
    if (!error || this.#error) return;
    this.#error = error;
    unthrown.add(error);
  }

  /** Finds the least recomputing for a step like this one, according to predictions. */
  #share(runs: readonly Recomputing[], needed: number): void {
    // Bytes that no plan includes, such as parameters' gradients, don't change.
    const rest = needed - peakOf(runs, this.#shares);
    const within = this.#budget * (1 - margin);
    const fits = (shares: Shares) => rest + peakOf(runs, shares) <= within;
    const level = first(rates.length, (each) => fits({ level: each, runs: runs.length }));
    this.#shares = { level, runs: first(runs.length, (count) => fits({ level, runs: count })) };
  }
}

/** How a step shares its budget: the first runs use the rate at `level`, later runs the next higher rate. */
interface Shares {
  /** 0: nothing is recomputed. */
  readonly level: number;
  readonly runs: number;
}

/** Nothing is recomputed. */
const whole: Shares = { level: 0, runs: 0 };

function rateOf({ level, runs }: Shares, run: number): number | null {
  const share = run < runs ? level : level - 1;
  return share <= 0 ? null : rates[share - 1]!;
}

/**
 * Binary search for the first number for which `holds` is true; `limit` if there is none before it. Assumes that it
 * also holds for all larger numbers.
 */
function first(limit: number, holds: (count: number) => boolean): number {
  let [low, high] = [0, limit];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return high;
}

/**
 * Returns the peak of forward, each run on top of what earlier runs keep, and of backward from the last run to the
 * first.
 */
function peakOf(runs: readonly Recomputing[], shares: Shares): number {
  let [kept, peak] = [0, 0];
  runs.forEach((run, i) => {
    const rate = rateOf(shares, i);
    const { forward, backward } = run.planAt(rate).stages.planned;
    const { peakBytes, savedBytes, outputBytes } = forward.predicted;
    peak = Math.max(peak, kept + peakBytes);
    kept += savedBytes + run.keptInputBytes(rate);
    if (backward) peak = Math.max(peak, kept + outputBytes + backward.plan.predicted.peakBytes);
  });
  return peak;
}
