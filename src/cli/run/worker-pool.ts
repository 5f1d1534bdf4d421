import { Worker } from 'node:worker_threads';
import type { Execution } from '../../vm/machine/machine.ts';
import { describeError, type RunResult } from './run-result.ts';
import type { WorkerData } from './run-worker.ts';

interface PoolOptions extends WorkerData {
  readonly execution: Execution;
  readonly program: { readonly program: URL | string; readonly eval: boolean };
  /** How long a file may run before it is stopped. */
  readonly milliseconds: number;
  readonly workers: number;
}

interface Task {
  readonly file: string;
  readonly resolve: (result: RunResult) => void;
}

/** How long a thread may take to start. */
const startMilliseconds = 30_000;

/** Threads that run files; one that hangs or dies is replaced. */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #idle: Worker[] = [];
  readonly #waiting: Task[] = [];
  /** Threads that are still starting. */
  readonly #fresh = new Set<Worker>();
  #count = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  run(file: string): Promise<RunResult> {
    return new Promise((resolve) => {
      this.#waiting.push({ file, resolve });
      this.#next();
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.map((worker) => worker.terminate()));
  }

  #next(): void {
    if (this.#waiting.length === 0) return;
    const worker = this.#idle.pop() ?? this.#start();
    if (worker) this.#give(worker, this.#waiting.shift()!);
  }

  #start(): Worker | undefined {
    if (this.#count === this.#options.workers) return undefined;
    this.#count++;
    const { runtime, execution, program } = this.#options;
    const worker = new Worker(program.program, {
      eval: program.eval,
      workerData: { runtime, execution } satisfies WorkerData,
    });
    this.#fresh.add(worker);
    return worker;
  }

  #give(worker: Worker, { file, resolve }: Task): void {
    const { milliseconds } = this.#options;
    const finish = (result: RunResult, reusable: boolean): void => {
      clearTimeout(timer);
      worker.off('message', received).off('error', failed).off('exit', exited);
      if (reusable) this.#idle.push(worker);
      else {
        this.#count--;
        // Later errors belong to a file whose result was already received.
        worker.on('error', () => {});
        void worker.terminate();
      }
      resolve(result);
      this.#next();
    };
    const fail = (error: string): void => finish({ file, ok: false, error }, false);
    const received = (result: RunResult | 'ready'): void => {
      if (result === 'ready') timer = limit(milliseconds);
      else finish(result, true);
    };
    const failed = (error: unknown): void => fail(describeError(error));
    const exited = (code: number): void => fail(`Exit: the thread ended with ${code}`);
    const late = `Timeout: it did not end within ${milliseconds} ms and was stopped`;
    const limit = (allowed: number): NodeJS.Timeout => {
      clearTimeout(timer);
      return setTimeout(() => fail(late), allowed);
    };
    // The time to start a thread doesn't count for the file.
    let timer: NodeJS.Timeout | undefined;
    timer = limit(milliseconds + startMilliseconds);
    if (!this.#fresh.delete(worker)) timer = limit(milliseconds);
    worker.on('message', received).on('error', failed).on('exit', exited);
    worker.postMessage(file);
  }
}
