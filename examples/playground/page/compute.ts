import type { Answer, Request, TrainingProgress } from '../messages.ts';

/** How long one request may take before its worker is considered hung. */
const patience = 60_000;

type RequestWithoutId<R extends Request = Request> = R extends Request ? Omit<R, 'id'> : never;

export type FinalAnswer = Exclude<Answer, { kind: 'progress' }>;

/** One worker: a new request replaces the running one, and a hung worker is replaced. */
export class Compute {
  #worker: Worker | undefined;
  #id = 0;
  #settle: ((answer: FinalAnswer | null) => void) | undefined;

  /**
   * The answer; null when another request came in between, or `stop()`. `progress` is called for every report.
   */
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
        this.stop();
        resolve({ kind: 'failed', id, problem: { line: 1, column: 1, message } });
      };
      const wait = (): void => {
        clearTimeout(timer);
        timer = window.setTimeout(() => {
          fail(`no answer for ${patience / 1000} s: is there a loop that doesn't end?`);
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
