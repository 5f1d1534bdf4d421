/**
 * 256-bit vectors for all kernels. An experimental, process-wide option of V8 joins pairs of adjacent 128-bit vectors,
 * so kernels with and without it are compared before use.
 */

import { DeviceError } from '../../errors/errors.ts';
import { fixedBytes, heap } from './core/heap.ts';
import { argumentsAt, argumentsBytes } from './core/scratch.ts';
import { hasSimd, instantiation, type Kernel } from './wasm/assembler/module-builder.ts';
import { pairVectors } from './wasm/assembler/paired-vectors.ts';
import { wideVectors } from './wasm/assembler/wide-vectors.ts';

/**
 * The version of V8 (in Node 24) in which the option works: earlier versions are wrong for shared memory, and 14 (in
 * Node 25 and 26) crashes.
 */
const rightVersion = 13;
/** The minimum speedup of a product; on processors with such vectors it is 2.5. */
const leastGain = 1.3;

const option = 'experimental-wasm-revectorize';

/** The code that kernels run; `both` compares them on the same memory. */
let runs: 'both' | 'narrow' | 'wide' = 'both';
/** The number of compared calls. */
let compared = 0;

/**
 * Enables the option. `sample` runs kernels of all kinds on one thread; `product` runs one that takes several
 * milliseconds.
 *
 * @returns the number of compared kernel calls.
 * @throws DeviceError if the engine or the processor has no such vectors, if kernels already exist, or if a kernel's
 * results differ; the option is then disabled again.
 */
export function revectorize(sample: () => void, product: () => void): number {
  const set = expectEngine();
  const { of } = instantiation;
  instantiation.of = (code, imports) => {
    const narrow = of(otherwise(code), imports).exports as Record<string, Kernel>;
    set(`--${option}`, '--no-liftoff', '--no-wasm-lazy-compilation');
    try {
      const wide = of(code, imports).exports as Record<string, Kernel>;
      const names = Object.keys(wide);
      const exports = names.map((name) => [name, either(name, narrow[name]!, wide[name]!)]);
      return { exports: Object.fromEntries(exports) as Record<string, Kernel> };
    } finally {
      set(`--no-${option}`, '--liftoff', '--wasm-lazy-compilation');
    }
  };
  pairVectors();
  runs = 'both';
  compared = 0;
  let isRight = false;
  try {
    sample();
    expectGain(product);
    isRight = true;
    return compared;
  } finally {
    instantiation.of = of;
    wideVectors.areUsed = isRight;
    runs = isRight ? 'wide' : 'narrow';
    if (isRight) set(`--${option}`);
  }
}

/** Returns a function that sets engine options. */
function expectEngine(): (...options: string[]) => void {
  const { versions, arch } = globalThis.process ?? {};
  const version = Number.parseInt(versions?.v8 ?? '0', 10);
  const isNode = versions !== undefined && !('bun' in versions) && !('deno' in versions);
  if (!isNode || version !== rightVersion || arch !== 'x64' || !hasSimd) {
    throw new DeviceError({
      what: 'init: 256-bit vectors are not supported here',
      given: isNode ? `Node ${versions.node} on ${arch}` : 'an engine that is not Node',
      expected: 'Node 24 on x64',
      remedy: 'leave out revectorize: results are the same without it',
    });
  }
  const { setFlagsFromString } = globalThis.process.getBuiltinModule('node:v8');
  return (...options) => {
    for (const each of options) setFlagsFromString(each);
  };
}

/** Returns the same module with different bytes, because the engine caches one compiled module per text. */
function otherwise(code: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const emptySection = [0, 1, 0];
  return new Uint8Array([...code, ...emptySection]);
}

/** Returns a kernel that runs one of two implementations, or compares them. */
function either(name: string, narrow: Kernel, wide: Kernel): Kernel {
  return (...args) => {
    if (runs === 'wide') return wide(...args);
    if (runs === 'narrow') return narrow(...args);
    before.take();
    const expected = narrow(...args);
    after.take();
    before.restore();
    wide(...args);
    compared++;
    if (!after.isSame) throw differs(name);
    return expected;
  };
}

/** Copies of all memory that a kernel reads and writes: its arguments and all tensors, but not scratch memory. */
class Memory {
  #bytes = new Uint8Array(0);

  /** Copies the current contents. */
  take(): void {
    const { u8 } = heap;
    const size = argumentsEnd + u8.length - fixedBytes;
    if (this.#bytes.length !== size) this.#bytes = new Uint8Array(size);
    this.#bytes.set(u8.subarray(0, argumentsEnd));
    this.#bytes.set(u8.subarray(fixedBytes), argumentsEnd);
  }

  restore(): void {
    heap.u8.set(this.#bytes.subarray(0, argumentsEnd));
    heap.u8.set(this.#bytes.subarray(argumentsEnd), fixedBytes);
  }

  /** Whether all tensors are unchanged. */
  get isSame(): boolean {
    return Buffer.compare(this.#bytes.subarray(argumentsEnd), heap.u8.subarray(fixedBytes)) === 0;
  }
}

const argumentsEnd = argumentsAt + argumentsBytes;
const [before, after] = [new Memory(), new Memory()];

/** Throws if the processor has no such vectors: the engine then ignores the option, and large tiles only cost time. */
function expectGain(product: () => void): void {
  const least = { narrow: Number.POSITIVE_INFINITY, wide: Number.POSITIVE_INFINITY };
  for (let round = 0; round < 20; round++) {
    for (const each of ['narrow', 'wide'] as const) {
      runs = each;
      const start = performance.now();
      product();
      least[each] = Math.min(least[each], performance.now() - start);
    }
  }
  const gain = least.narrow / least.wide;
  if (gain >= leastGain) return;
  throw new DeviceError({
    what: 'init: the processor has no 256-bit vectors',
    given: `a product that takes ${least.wide.toFixed(2)} ms with them, ${least.narrow.toFixed(2)} without`,
    expected: `at least ${leastGain} times as fast`,
    remedy: 'leave out revectorize: results are the same without it',
  });
}

function differs(kernel: string): DeviceError {
  return new DeviceError({
    what: 'init: 256-bit vectors change results here',
    given: `the kernel ${kernel}, whose bits differ`,
    expected: 'the same bits as without them',
    remedy: 'leave out revectorize, and report it with the versions of Node and the processor',
  });
}
