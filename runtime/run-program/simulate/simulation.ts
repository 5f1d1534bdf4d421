import { InvariantError } from '../../errors/invariant.ts';
import { events } from '../../memory/events.ts';
import { spans } from '../../profiler/spans.ts';
import type { ProgramOp } from '../../program/program.ts';
import { decided } from '../control/decisions.ts';
import type { Slot } from '../scope/scope.ts';
import type { Decider } from './decider.ts';

/** Observes a control op of the program itself, not of its regions; must call `run` once. */
type Observer = (slots: readonly Slot[], run: () => void) => void;

/** A run on counting devices: the total bytes on all of them, and the decisions of its control ops. */
export class Simulation {
  live: number;
  peak: number;
  /** The number of steps so far, including those of regions each time they ran. */
  steps = 0;
  observer: Observer | null = null;
  /** The running control ops, outermost first, each with the slots of the scope it runs in. */
  readonly around: { readonly op: ProgramOp; readonly slots: readonly Slot[] }[] = [];
  /** The slots of the region of the innermost control op that began to run last. */
  entered: readonly Slot[] = [];
  readonly decider: Decider;
  /** Returns the next number that the current control op reads from the device. */
  read: () => number = nothingToRead;

  /** `live` is the number of bytes at the start. */
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

  /** Counts bytes that are allocated and freed again immediately. */
  touch(bytes: number): void {
    this.peak = Math.max(this.peak, this.live + bytes);
  }

  /** Returns the highest number of bytes that `body` adds to the live bytes while it runs. */
  peakIncrease(body: () => void): number {
    const [before, peak] = [this.live, this.peak];
    this.peak = before;
    body();
    const most = this.peak - before;
    this.peak = Math.max(peak, this.peak);
    return most;
  }

  /** Runs `body` in this simulation, without emitting events or spans or recording decisions. */
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

const simulating: { current: Simulation | null } = { current: null };

export function currentSimulation(): Simulation {
  const { current } = simulating;
  if (!current) throw new InvariantError('a counting device is used outside of a simulation');
  return current;
}
