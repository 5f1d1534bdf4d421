import { InvariantError } from '../../errors/invariant.ts';
import { events } from '../../memory/events.ts';
import { spans } from '../../profiler/spans.ts';
import { decided } from '../control/decisions.ts';
import type { Slot } from '../scope/scope.ts';
import type { Decider } from './decider.ts';

/** Sees a control op of the program itself, not of its regions: `run` is to be called once. */
export type Observer = (slots: readonly Slot[], run: () => void) => void;

/** A run on counting devices: its bytes on all of them together, and what its control ops decide. */
export class Simulation {
  live: number;
  peak: number;
  /** Steps so far, those of regions each time that they ran. */
  steps = 0;
  observer: Observer | null = null;
  readonly decider: Decider;
  /** The next number that the current control op reads from the device. */
  read: () => number = nothingToRead;

  /** `live`: bytes that are there at the start. */
  constructor(decider: Decider, live = 0) {
    this.decider = decider;
    this.live = live;
    this.peak = live;
  }

  alloc(bytes: number): void {
    this.live += bytes;
    if (this.live > this.peak) this.peak = this.live;
  }

  free(bytes: number): void {
    this.live -= bytes;
  }

  /** Bytes that come and go. */
  touch(bytes: number): void {
    this.peak = Math.max(this.peak, this.live + bytes);
  }

  /** Returns the bytes that `body` adds to the live bytes while it runs, at most. */
  excursion(body: () => void): number {
    const [before, peak] = [this.live, this.peak];
    this.peak = before;
    body();
    const most = this.peak - before;
    this.peak = Math.max(peak, this.peak);
    return most;
  }

  /** Runs `body` in this simulation. It leaves no trace: no event, no span, no decision. */
  within<T>(body: () => T): T {
    const around = simulating.current;
    const [listened, kernels, profiled, noted] = [
      events.active,
      events.kernels,
      spans.active,
      decided.current,
    ];
    simulating.current = this;
    events.active = false;
    spans.active = false;
    decided.current = null;
    try {
      return body();
    } finally {
      simulating.current = around;
      events.active = listened;
      events.kernels = kernels;
      spans.active = profiled;
      decided.current = noted;
    }
  }
}

export function nothingToRead(): never {
  throw new InvariantError('a simulated op reads a number without a provided value');
}

/** The current simulation. */
const simulating: { current: Simulation | null } = { current: null };

export function currentSimulation(): Simulation {
  const { current } = simulating;
  if (!current) throw new InvariantError('a counting device is used outside of a simulation');
  return current;
}
