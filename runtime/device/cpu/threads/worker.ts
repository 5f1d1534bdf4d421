import { nodeWorkerSource, pageWorkerSource, type ThreadStart } from './worker-source.ts';

/** A Node or page thread, which doesn't keep the process alive. */
export interface ThreadHandle {
  readonly worker: unknown;
  end(): void;
}

/** Starts a thread; `ended` is called when it ends, with the error if there was one. */
export function startThread(start: ThreadStart, ended: (cause?: unknown) => void): ThreadHandle {
  const node = globalThis.process?.getBuiltinModule?.('node:worker_threads');
  return node ? nodeThread(node, start, ended) : pageThread(start, ended);
}

function nodeThread(
  { Worker }: typeof import('node:worker_threads'),
  start: ThreadStart,
  ended: (cause?: unknown) => void,
): ThreadHandle {
  const worker = new Worker(nodeWorkerSource, {
    eval: true,
    workerData: start,
    // The worker doesn't need the process's preloads, such as a TypeScript loader.
    execArgv: [],
    env: {},
    name: `tostatic ${start.thread}`,
  });
  worker.unref();
  worker.on('error', ended);
  worker.on('exit', () => ended());
  return { worker, end: () => void worker.terminate() };
}

function pageThread(start: ThreadStart, ended: (cause?: unknown) => void): ThreadHandle {
  const blob = new Blob([pageWorkerSource], { type: 'text/javascript' });
  const url = URL.createObjectURL(blob);
  const worker = new Worker(url, { name: `tostatic ${start.thread}` });
  worker.onerror = (event) => {
    event.preventDefault();
    ended(event.message);
  };
  worker.postMessage(start);
  return { worker, end: () => worker.terminate() };
}
