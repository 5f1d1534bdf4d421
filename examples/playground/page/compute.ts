import type { Answer, Request, TrainingProgress } from '../messages.ts';

/** Milliseconds after which the worker of a request is considered hung. */
const patience = 60_000;

type RequestWithoutId<R extends Request = Request> = R extends Request ? Omit<R, 'id'> : never;

export type FinalAnswer = Exclude<Answer, { kind: 'progress' }>;

/** One worker: a new request replaces the running one, and a hung worker is replaced. */
export class Compute {
  #worker: Worker | undefined;
  #id = 0;
  #settle: ((answer: FinalAnswer | null) => void) | undefined;

  /** Returns the response; null if another request or `stop()` came first. Calls `progress` with every report. */
  request(
    request: RequestWithoutId,
    progress: (report: TrainingProgress) => void = () => {},
  ): Promise<FinalAnswer | null> {
    // A worker can't be interrupted: one that is still computing is terminated.
    if (this.#settle) this.stop();
    this.#worker ??= new Worker(new URL('../worker/main.ts', import.meta.url), { type: 'module' });
    const worker = this.#worker;
    const id = ++this.#id;
    return new Promise((resolve) => {
      let timer = 0;
      const settle = (answer: FinalAnswer | null): void => {
        clearTimeout(timer);
        this.#settle = undefined;
        resolve(answer);
      };
      const fail = (message: string): void => {
        settle({ kind: 'failed', id, problem: { line: 1, column: 1, message } });
        this.stop();
      };
      const wait = (): void => {
        clearTimeout(timer);
        timer = window.setTimeout(() => {
          fail(`stopped after ${patience / 1000} s: is there a loop that never ends?`);
        }, patience);
      };
      wait();
      this.#settle = settle;
      worker.onmessage = ({ data }: MessageEvent<Answer>) => {
        if (data.id !== id) return;
        if (data.kind === 'progress') {
          wait();
          progress(data.progress);
        } else settle(data);
      };
      worker.onerror = (event) => fail(event.message || 'the worker failed to load');
      worker.postMessage({ ...request, id });
    });
  }

  stop(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#settle?.(null);
  }
}
