import { toNormals } from '../../random/box-muller.ts';
import { randomBlock, toUniforms, twoWords } from '../../random/philox.ts';
import { sizeOf } from '../../spec/shape.ts';
import { heap } from './core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from './core/kernel.ts';
import * as scalar from './scalar/fill.ts';
import { pool } from './threads/pool.ts';
import { hasSimd, type Kernel } from './wasm/assembler/module-builder.ts';
import { randomKernels } from './wasm/random-kernels.ts';

interface Distribution {
  readonly fallback: KernelFactory;
  readonly fromWords: (words: Int32Array, numbers: Float64Array) => void;
  /** The kernel that converts uniform numbers to this distribution; null if they are uniform. */
  readonly conversion: 'normal' | null;
  readonly nanoseconds: number;
}

/** The minimum number of blocks per part, and the maximum number of parts. */
const partBlocks = 2048;
const mostParts = 256;

const partLength = (count: number): number => Math.max(partBlocks, Math.ceil(count / mostParts));

function shareBlocks(
  at: number,
  blocks: number,
  [low, high, key0, key1]: readonly [number, number, number, number],
): void {
  const { numbers } = pool;
  const length = partLength(blocks);
  let parts = 0;
  for (let from = 0; from < blocks; from += length) {
    const next = (low >>> 0) + from;
    // The counter has 64 bits.
    const carry = Math.floor(next / 2 ** 32);
    const count = Math.min(length, blocks - from);
    numbers.set([at + from * 16, count, next % 2 ** 32, high + carry, key0, key1], parts++ * 6);
  }
  pool.run(randomKernels().uniform, parts, 6);
}

function shareConversion(kernel: Kernel, at: number, blocks: number): void {
  const { numbers } = pool;
  const length = partLength(blocks);
  let parts = 0;
  for (let from = 0; from < blocks; from += length) {
    numbers.set([at + from * 16, Math.min(length, blocks - from)], parts++ * 2);
  }
  pool.run(kernel, parts, 2);
}

/** WebAssembly computes whole blocks of four, JavaScript the ends, where the offset splits a block. */
function random({ fallback, fromWords, conversion, nanoseconds }: Distribution): KernelFactory {
  if (!hasSimd) return fallback;
  return (inputs, [out], attrs) => {
    expectContiguous(out!);
    if (out!.dtype === 'float64') return fallback(inputs, [out!], attrs);
    const size = sizeOf(out!.shape);
    const words = new Int32Array(4);
    const numbers = new Float64Array(4);
    const kernels = randomKernels();

    /** Writes elements `from` to `to` of the stream; number `start` goes to `index`. */
    const writeSingly = (
      seed: number,
      start: number,
      index: number,
      from: number,
      to: number,
    ): void => {
      for (let i = from; i < to; i++) {
        if (i === from || i % 4 === 0) {
          randomBlock(seed, Math.floor(i / 4), words);
          fromWords(words, numbers);
        }
        heap.f32[index + i - start] = numbers[i % 4]!;
      }
    };
    return (_sources, [target], now = attrs) => {
      const seed = now.seed as number;
      const start = now.offset as number;
      const end = start + size;
      const firstWhole = Math.min(Math.ceil(start / 4) * 4, end);
      const endWhole = Math.max(Math.floor(end / 4) * 4, firstWhole);
      const index = indexOf(target!, 'float32');
      writeSingly(seed, start, index, start, firstWhole);
      const [key0, key1] = twoWords(seed);
      const [low, high] = twoWords(firstWhole / 4);
      const from = index + firstWhole - start;
      const to = index + endWhole - start;
      if (to > from) {
        if (pool.shares((to - from) * nanoseconds)) {
          shareBlocks(from * 4, (to - from) / 4, [low, high, key0, key1]);
          if (conversion) shareConversion(kernels[conversion], from * 4, (to - from) / 4);
        } else {
          kernels.uniform(from * 4, (to - from) / 4, low, high, key0, key1);
          if (conversion) kernels[conversion](from * 4, (to - from) / 4);
        }
      }
      writeSingly(seed, start, index, endWhole, end);
    };
  };
}

export const uniform = random({
  fallback: scalar.uniform,
  fromWords: toUniforms,
  conversion: null,
  nanoseconds: 4,
});

export const normal = random({
  fallback: scalar.normal,
  fromWords: toNormals,
  conversion: 'normal',
  nanoseconds: 8,
});
