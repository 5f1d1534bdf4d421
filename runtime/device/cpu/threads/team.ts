import { DeviceError } from '../../../errors/errors.ts';
import { invariant } from '../../../errors/invariant.ts';
import { heap, threadBytes } from '../core/heap.ts';
import { type Kernel, moduleOf } from '../wasm/assembler/module-builder.ts';
import {
  argumentsAt,
  closed,
  codeAt,
  codeBytes,
  controlBytes,
  mostArguments,
  mostParts,
  partBits,
  words,
} from './control.ts';
import type { startThread, ThreadHandle } from './worker.ts';
import { isInWorkers } from './worker-functions.ts';

export interface TeamOptions {
  /** Milliseconds after which an unfinished part is considered lost. */
  readonly patience: number;
  readonly start: typeof startThread;
  /** Called when a thread has ended unexpectedly. */
  readonly ended: (thread: number, cause: unknown) => void;
}

/** The number of checks by a waiting thread before it sleeps. */
const turnsBeforeSleep = 20_000;

/** A page's main thread can't sleep. */
const canSleep = typeof globalThis.window === 'undefined';

/**
 * The started threads and the thread that runs the program, which together compute the parts of one kernel. Idle
 * threads take one part at a time. No thread waits for one that isn't awake yet: the program's own thread computes
 * the parts that no other thread takes.
 */
export class Team {
  /** The arguments that `run` passes to the kernel: those of part p start at p · arity. */
  readonly numbers: Float64Array;
  readonly #control = new SharedArrayBuffer(controlBytes);
  readonly #words = new Int32Array(this.#control);
  readonly #handles = new Map<number, ThreadHandle>();
  readonly #options: TeamOptions;
  readonly #list: number[] = [];
  /** Indices of kernels in the list that all threads have; null for a kernel that other threads can't call. */
  readonly #ids = new Map<Kernel, number | null>();
  #codeEnd = codeAt;
  #kernels = 0;
  #job = 0;

  constructor(options: TeamOptions) {
    this.#options = options;
    this.numbers = new Float64Array(this.#control, argumentsAt, mostParts * mostArguments);
    this.#words[words.claim] = closed;
  }

  /** Sets the number of threads that take parts, starting missing ones. Throws if none can be started. */
  resize(threads: number): void {
    Atomics.store(this.#words, words.threads, threads);
    Atomics.notify(this.#words, words.threads);
    for (let thread = 1; thread < threads; thread++) {
      if (!this.#handles.has(thread)) this.#start(thread);
    }
  }

  /** Whether any thread can take a part. */
  get isReady(): boolean {
    for (const thread of this.#handles.keys()) {
      if (this.#words[words.begun + thread] === 1) return true;
    }
    return false;
  }

  /** Whether all threads are waiting for the next job without sleeping. */
  get isAwake(): boolean {
    return this.isComplete && Atomics.load(this.#words, words.parked) === 0;
  }

  /** Whether all started threads are running. */
  get isComplete(): boolean {
    for (const thread of this.#handles.keys()) {
      if (Atomics.load(this.#words, words.begun + thread) === 0) return false;
    }
    return true;
  }

  end(): void {
    for (const handle of this.#handles.values()) handle.end();
    this.#handles.clear();
  }

  /** Calls the kernel for each part and returns when all are done. Throws DeviceError if a thread was lost. */
  run(kernel: Kernel, parts: number, arity: number): void {
    invariant(parts <= mostParts && arity <= mostArguments, 'a job that is too large');
    const list = this.#words;
    const id = this.#idOf(kernel);
    if (id === null) {
      for (let part = 0; part < parts; part++) this.#call(kernel, part, arity);
      return;
    }
    // Closed while the job changes, so that a thread that saw the last job can't take a part of this one.
    Atomics.store(list, words.claim, closed);
    list[words.kernel] = id;
    list[words.parts] = parts;
    list[words.arity] = arity;
    Atomics.store(list, words.done, 0);
    this.#job = (this.#job + 1) % 2 ** (31 - partBits);
    const first = this.#job << partBits;
    Atomics.store(list, words.claim, first);
    if (Atomics.load(list, words.parked) > 0) Atomics.notify(list, words.claim, parts - 1);
    const thrown = this.#takeParts(kernel, first, parts, arity);
    this.#join(parts);
    Atomics.store(list, words.claim, closed);
    if (thrown) throw thrown.error;
    const failed = list[words.failed]!;
    if (failed !== 0) throw lost(`thread ${failed} failed in a kernel`);
  }

  /** Runs parts until none is left; an error in a part is thrown once the other threads are done. */
  #takeParts(
    kernel: Kernel,
    first: number,
    parts: number,
    arity: number,
  ): { readonly error: unknown } | null {
    const list = this.#words;
    let thrown: { readonly error: unknown } | null = null;
    let part = Atomics.add(list, words.claim, 1) - first;
    while (part < parts) {
      try {
        this.#call(kernel, part, arity);
      } catch (error) {
        thrown ??= { error };
      }
      Atomics.add(list, words.done, 1);
      part = Atomics.add(list, words.claim, 1) - first;
    }
    return thrown;
  }

  #call(kernel: Kernel, part: number, arity: number): void {
    const list = this.#list;
    list.length = arity;
    for (let i = 0; i < arity; i++) list[i] = this.numbers[part * arity + i]!;
    kernel(...list);
  }

  #join(parts: number): void {
    const list = this.#words;
    for (let turn = 0; turn < turnsBeforeSleep; turn++) {
      if (Atomics.load(list, words.done) === parts) return;
    }
    const { patience } = this.#options;
    let [seen, since] = [-1, performance.now()];
    Atomics.store(list, words.waiting, 1);
    try {
      for (;;) {
        const done = Atomics.load(list, words.done);
        if (done === parts) return;
        if (done !== seen) [seen, since] = [done, performance.now()];
        else if (performance.now() - since > patience) {
          const given = `${parts - done} of ${parts} parts are not done after ${patience} ms`;
          throw lost(given);
        }
        if (canSleep) Atomics.wait(list, words.done, done, patience);
      }
    } finally {
      Atomics.store(list, words.waiting, 0);
    }
  }

  #start(thread: number): void {
    Atomics.store(this.#words, words.begun + thread, 0);
    const { memory } = heap;
    const start = { control: this.#control, memory, thread, base: thread * threadBytes };
    const handle = this.#options.start(start, (cause) => {
      if (this.#handles.get(thread) !== handle) return;
      this.#handles.delete(thread);
      Atomics.store(this.#words, words.begun + thread, 0);
      this.#options.ended(thread, cause);
    });
    this.#handles.set(thread, handle);
  }

  #idOf(kernel: Kernel): number | null {
    let id = this.#ids.get(kernel);
    if (id === undefined) {
      this.#publish(kernel);
      id = this.#ids.get(kernel)!;
    }
    return id;
  }

  /** Publishes the kernel's module for other threads to compile, unless they lack functions that it calls. */
  #publish(kernel: Kernel): void {
    const { code, imports, kernels } = moduleOf(kernel);
    const length = 8 + Math.ceil(code.length / 8) * 8;
    const isUsable = [...imports].every(isInWorkers);
    const fits = this.#codeEnd + length <= codeAt + codeBytes;
    if (!isUsable || !fits) {
      for (const each of kernels) this.#ids.set(each, null);
      return;
    }
    this.#words[this.#codeEnd / 4] = code.length;
    new Uint8Array(this.#control).set(code, this.#codeEnd + 8);
    this.#codeEnd += length;
    for (const each of kernels) this.#ids.set(each, this.#kernels++);
  }
}

function lost(given: string): DeviceError {
  return new DeviceError({
    what: 'cpu: a thread was lost in the middle of a kernel, whose results are incomplete',
    given,
    expected: 'threads that live as long as the program',
    remedy:
      "look for what ends worker threads, or compute on one: await init('cpu', { threads: 1 })",
  });
}
