import { TostaticError } from '../../../errors/errors.ts';
import { canShare } from '../core/heap.ts';
import type { Kernel } from '../wasm/assembler/module-builder.ts';
import { Team, type TeamOptions } from './team.ts';
import { checkedThreads, defaultThreads } from './thread-count.ts';
import { startThread } from './worker.ts';

/** The minimum work, in single-thread nanoseconds, that is shared: waking the other threads takes about as long. */
const leastWork = 40_000;
/** The minimum work that is shared while the other threads are awake, that is, shortly after a kernel. */
const leastWorkAwake = 12_000;

/** Threads start once this much work has accumulated, so that a short script starts none. */
const startAfter = 20_000_000;

const noNumbers = new Float64Array(0);

/**
 * Decides what several threads compute. Kernels split their work independently of the number of threads, or only where
 * no sum depends on it, so results don't depend on the number of threads or on which of them are awake.
 */
export class ThreadPool {
  readonly #options: TeamOptions;
  #threads: number | null;
  #team: Team | null = null;
  #seenWork = 0;

  /** Null for the number of threads that the environment specifies. */
  constructor(threads: number | null, options: Partial<TeamOptions> = {}) {
    this.#threads = threads;
    this.#options = {
      patience: 60_000,
      start: startThread,
      ended: (thread, cause) => this.#noteEnd(thread, cause),
      ...options,
    };
  }

  /** The number of computing threads, including the one that runs the program. */
  get threads(): number {
    this.#threads ??= defaultThreads();
    return this.#threads;
  }

  set threads(count: number) {
    this.#threads = canShare ? checkedThreads(count, 'threads') : 1;
    if (this.#team) this.start();
  }

  /** The arguments that `run` passes to the kernel: those of part p start at p · arity. */
  get numbers(): Float64Array {
    return this.#team?.numbers ?? noNumbers;
  }

  /** Whether a kernel that takes `work` nanoseconds on one thread is shared; its parts are then passed to `run`. */
  shares(work: number): boolean {
    if (work < leastWorkAwake || this.threads === 1) return false;
    if (work < leastWork) return this.#team?.isAwake ?? false;
    if (this.#team) return this.#team.isReady;
    this.#seenWork += work;
    if (this.#seenWork >= startAfter) this.start();
    return false;
  }

  /** Starts missing threads. If threads are forbidden, one thread computes from now on. */
  start(): void {
    if (this.threads === 1 && !this.#team) return;
    this.#team ??= new Team(this.#options);
    try {
      this.#team.resize(this.threads);
    } catch {
      // Node's permissions or a page's policy forbids threads.
      this.end();
    }
  }

  /** Starts missing threads; resolves when all have started. */
  async ready(): Promise<void> {
    this.start();
    while (this.#team && !this.#team.isComplete) await new Promise((done) => setTimeout(done, 1));
  }

  /** Calls the kernel once for each part, on all threads. Throws DeviceError if a thread died while running a part. */
  run(kernel: Kernel, parts: number, arity: number): void {
    try {
      this.#team!.run(kernel, parts, arity);
    } catch (error) {
      if (error instanceof TostaticError) this.end();
      throw error;
    }
  }

  /** Stops all threads except the program's own, which computes alone from now on. */
  end(): void {
    this.#team?.end();
    this.#team = null;
    this.#threads = 1;
  }

  #noteEnd(thread: number, cause: unknown): void {
    const why = cause instanceof Error ? cause.message : (cause ?? 'another thread ended it');
    console.warn(
      `tostatic: thread ${thread} of the CPU device is gone (${why}); the others continue`,
    );
  }
}

export const pool = new ThreadPool(null);
