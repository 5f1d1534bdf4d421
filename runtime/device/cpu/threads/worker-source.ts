import { argumentsAt, closed, codeAt, partMask, words } from './control.ts';
import { workerFunctionsText } from './worker-functions.ts';

/** The data that a thread starts with. */
export interface ThreadStart {
  readonly control: SharedArrayBuffer;
  readonly memory: WebAssembly.Memory;
  /** From 1; 0 is the thread that runs the program. */
  readonly thread: number;
  /** The start of its scratch memory. */
  readonly base: number;
}

/** The idle time in milliseconds after which a thread sleeps. */
const spinMs = 0.2;

/**
 * The program of a pool thread: it takes parts of the current job, spins for `spinMs`, because a program's next kernel
 * usually follows immediately, then sleeps. It is text, so that bundlers and pages need no file for it. `start` is a
 * ThreadStart.
 */
const main = `
const compute = ({ control, memory, thread, base }) => {
  const words = new Int32Array(control);
  const numbers = new Float64Array(control, ${argumentsAt});
  const env = { ...${workerFunctionsText}, memory, base };
  const kernels = [];
  let codeAt = ${codeAt};
  const loadNext = () => {
    const length = words[codeAt / 4];
    const code = new Uint8Array(control, codeAt + 8, length).slice();
    const module = new WebAssembly.Module(code);
    for (const { name } of WebAssembly.Module.imports(module)) {
      env[name] ??= () => { throw new Error('a thread has no ' + name); };
    }
    kernels.push(...Object.values(new WebAssembly.Instance(module, { env }).exports));
    codeAt += 8 + Math.ceil(length / 8) * 8;
  };
  const list = [];
  const run = (part) => {
    const kernel = words[${words.kernel}];
    while (kernels.length <= kernel) loadNext();
    const arity = words[${words.arity}];
    list.length = arity;
    for (let i = 0; i < arity; i++) list[i] = numbers[part * arity + i];
    kernels[kernel](...list);
  };
  Atomics.store(words, ${words.begun} + thread, 1);
  let idleFrom = 0;
  let spins = 0;
  for (;;) {
    const count = Atomics.load(words, ${words.threads});
    if (thread >= count) {
      Atomics.wait(words, ${words.threads}, count);
      continue;
    }
    const claim = Atomics.load(words, ${words.claim});
    const part = claim & ${partMask};
    if (part < Atomics.load(words, ${words.parts}) && part !== ${closed}) {
      spins = 0;
      if (Atomics.compareExchange(words, ${words.claim}, claim, claim + 1) !== claim) continue;
      try {
        run(part);
      } catch (error) {
        Atomics.store(words, ${words.failed}, thread);
        setTimeout(() => { throw error; });
        return;
      } finally {
        Atomics.add(words, ${words.done}, 1);
        if (Atomics.load(words, ${words.waiting}) !== 0) Atomics.notify(words, ${words.done});
      }
      continue;
    }
    if (spins++ === 0) idleFrom = performance.now();
    if (spins % 64 !== 0 || performance.now() - idleFrom < ${spinMs}) continue;
    spins = 0;
    Atomics.add(words, ${words.parked}, 1);
    Atomics.wait(words, ${words.claim}, claim);
    Atomics.sub(words, ${words.parked}, 1);
  }
};`;

/** For Node: starts with its \`workerData\`. */
export const nodeWorkerSource = `${main}
compute(require('node:worker_threads').workerData);`;

/** For pages: starts with the first message. */
export const pageWorkerSource = `${main}
addEventListener('message', ({ data }) => compute(data), { once: true });`;
