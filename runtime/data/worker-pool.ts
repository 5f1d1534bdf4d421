import type { Worker } from 'node:worker_threads';
import { DataError } from '../errors/errors.ts';
import { threads } from './threads.ts';
import type { Reply, Request, WorkerStart } from './worker-messages.ts';

/** Loads the preload modules before the first module of this package. */
const bootstrap = `
  const { workerData } = require('node:worker_threads');
  (async () => {
    for (const file of workerData.files) await import(file);
  })().catch((error) => setImmediate(() => { throw error; }));
`;

// webpack treats `new URL(…, import.meta.url)` as an asset and warns if it can't resolve it.
const here: string | undefined = import.meta.url;

/** Returns the worker's file next to this one. Classic scripts and CommonJS bundles have no URL of their own. */
function mainFile(): string {
  if (here)
    return new URL(here.endsWith('.ts') ? './worker-main.ts' : './worker-main.js', here).href;
  throw new DataError({
    what: 'DataLoader: there is no file for workers',
    given: 'numWorkers in a bundle of CommonJS',
    expected: 'the installed package',
    remedy: "leave the package out of the bundle (external: ['tostatic']), or use numWorkers: 0",
  });
}

interface PendingReply {
  readonly indices: Int32Array | null;
  readonly resolve: (batch: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Marks the end of a stream. */
const ended: unique symbol = Symbol('ended');

/** One thread, which replies in the order of the requests. */
class DataWorker {
  readonly #id: number;
  readonly #worker: Worker;
  readonly #waiting: PendingReply[] = [];
  #failure: DataError | null = null;

  constructor(start: WorkerStart, preload: readonly string[]) {
    this.#id = start.id;
    const files = [...preload, mainFile()];
    this.#worker = new (threads().Worker)(bootstrap, {
      eval: true,
      workerData: { ...start, files },
    });
    this.#worker.on('message', (reply: Reply) => this.#settle(reply));
    this.#worker.on('error', (cause) => this.#fail(`it ended: ${String(cause)}`, cause));
    this.#worker.on('exit', (code) => this.#fail(`it ended with exit code ${code}`));
  }

  ask(indices: Int32Array | null): Promise<unknown> {
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ indices, resolve, reject });
      this.#worker.postMessage({ indices } satisfies Request);
    });
  }

  async end(): Promise<void> {
    this.#waiting.length = 0;
    await this.#worker.terminate();
  }

  #settle(reply: Reply): void {
    const request = this.#waiting.shift();
    // The loop ended before this message arrived.
    if (!request) return;
    const { resolve, reject, indices } = request;
    if (reply.kind === 'batch') resolve(reply.batch);
    else if (reply.kind === 'end') resolve(ended);
    else {
      const cause = Object.assign(new Error(reply.message), { stack: reply.stack });
      reject(this.#error(reply.message, indices, cause));
    }
  }

  #fail(given: string, cause?: unknown): void {
    this.#failure ??= this.#error(given, null, cause);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }

  #error(given: string, indices: Int32Array | null, cause: unknown): DataError {
    const samples = indices ? ` on samples ${listed(indices)}` : '';
    return new DataError({
      what: `DataLoader: worker ${this.#id} failed${samples}`,
      given,
      expected: 'a data set whose samples can be read in another thread',
      remedy:
        'read the sample in this thread (numWorkers: 0) to see it fail; `cause` has its stack',
      cause,
    });
  }
}

function listed(indices: Int32Array): string {
  const shown = Array.from(indices.subarray(0, 8)).join(', ');
  return indices.length > 8 ? `${shown}, …` : shown;
}

/** Yields batches from several threads, in the order of the requests. */
export async function* fromWorkers(
  starts: readonly WorkerStart[],
  batches: Iterable<Int32Array> | null,
  options: { readonly ahead: number; readonly preload: readonly string[] },
): AsyncGenerator<unknown, void, undefined> {
  const workers: DataWorker[] = [];
  try {
    for (const start of starts) workers.push(new DataWorker(start, options.preload));
    yield* batches ? inOrder(workers, batches, options.ahead) : roundRobin(workers, options.ahead);
  } finally {
    // Also runs after `break`: batches still in progress are plain data, which the threads' end frees.
    await Promise.all(workers.map((worker) => worker.end()));
  }
}

async function* inOrder(
  workers: readonly DataWorker[],
  batches: Iterable<Int32Array>,
  ahead: number,
): AsyncGenerator<unknown, void, undefined> {
  const request: Promise<unknown>[] = [];
  const iterator = batches[Symbol.iterator]();
  let turn = 0;
  const askNext = () => {
    const next = iterator.next();
    if (next.done) return;
    request.push(quiet(workers[turn++ % workers.length]!.ask(next.value)));
  };
  for (let i = 0; i < ahead * workers.length; i++) askNext();
  for (let next = request.shift(); next; next = request.shift()) {
    const batch = await next;
    askNext();
    yield batch;
  }
}

/** Yields batches from the workers in turn, each of which has its own part of a stream; skips finished workers. */
async function* roundRobin(
  workers: readonly DataWorker[],
  ahead: number,
): AsyncGenerator<unknown, void, undefined> {
  let running = workers.map((worker) => ({
    worker,
    request: Array.from({ length: ahead }, () => quiet(worker.ask(null))),
  }));
  while (running.length > 0) {
    const through = new Set<DataWorker>();
    for (const { worker, request } of running) {
      const batch = await request.shift()!;
      if (batch === ended) {
        through.add(worker);
        continue;
      }
      request.push(quiet(worker.ask(null)));
      yield batch;
    }
    running = running.filter(({ worker }) => !through.has(worker));
  }
}

/** Suppresses unhandled rejections: an error is reported when its batch is due. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
