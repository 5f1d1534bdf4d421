import { type Device, type MemoryStats, memory } from '../../src/index.ts';
import { recordTimeline, type Timeline } from '../../src/lab/timeline.ts';

/** One step, event by event. */
interface RecordedStep {
  readonly timeline: Timeline;
  /** Calls from the end of the previous step to its own end, including those for its batch. */
  readonly allocations: number;
  readonly frees: number;
}

/** The number of recorded steps. The fastest is shown, because slow ones measure other load on the machine. */
const recordedSteps = 5;

/** Marks in a step; compiled functions also mark their runs. */
const phases = ['forward', 'backward', 'update'];

/**
 * Tracks a training run: time and memory of its steps, some of them event by event. Checks that steps leak no memory:
 * the same bytes are allocated after each.
 */
export class Account {
  readonly problems: string[] = [];
  readonly #device: Device;
  /** Numbers of the steps to record, starting at 1. */
  readonly #record: { readonly first: number; readonly last: number };
  readonly #times: number[] = [];
  #before: MemoryStats;
  #timeline: Timeline | null = null;
  #fastest: RecordedStep | null = null;
  #steady: number | null = null;

  /** `last`: the last step to record, which should have a full batch. */
  constructor(device: Device, last: number) {
    this.#device = device;
    this.#record = { first: Math.max(1, last - recordedSteps + 1), last };
    memory.reset(device);
    this.#before = memory.stats(device);
  }

  /** Runs forward, backward and update of the next step. */
  measure<T>(body: () => T): T {
    const step = this.#times.length + 1;
    const isRecorded = step >= this.#record.first && step <= this.#record.last;
    const start = performance.now();
    const { result, timeline } = isRecorded
      ? recordTimeline(this.#device, body, phases)
      : { result: body(), timeline: null };
    this.#times.push(performance.now() - start);
    this.#timeline = timeline;
    return result;
  }

  /** Must be called once all memory of the step was freed, including its batch. */
  endStep(): void {
    const now = memory.stats(this.#device);
    if (this.#timeline) this.#keepFastest(this.#timeline, now);
    this.#before = now;
    const step = this.#times.length;
    // The first step may create what all later ones use.
    if (step === 2) this.#steady = now.allocated;
    if (this.#steady === null || now.allocated === this.#steady) return;
    this.problems.push(
      `step ${step} left ${now.allocated} bytes allocated, the one before ${this.#steady}`,
    );
    this.#steady = now.allocated;
  }

  #keepFastest(timeline: Timeline, now: MemoryStats): void {
    if (this.#fastest && this.#fastest.timeline.duration <= timeline.duration) return;
    const allocations = now.allocations - this.#before.allocations;
    const frees = now.frees - this.#before.frees;
    this.#fastest = { timeline, allocations, frees };
  }

  /** The fastest recorded step. */
  get recorded(): RecordedStep {
    if (!this.#fastest) throw new Error(`the training ended before step ${this.#record.first}`);
    return this.#fastest;
  }

  /** Median of the steps' times, in milliseconds. */
  get stepTime(): number {
    const sorted = this.#times.toSorted((a, b) => a - b);
    return sorted[sorted.length >> 1]!;
  }
}
