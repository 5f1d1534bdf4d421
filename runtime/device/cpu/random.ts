import {
  randomBlock,
  toNormals,
  toUniforms,
  twoWords,
  uniformsToNormals,
} from '../../random/philox.ts';
import { sizeOf } from '../../tensor/shape.ts';
import { heap } from './heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from './kernel.ts';
import * as scalar from './scalar/fill.ts';
import { hasSimd } from './wasm/module-builder.ts';
import { randomKernels } from './wasm/random-kernels.ts';

interface Distribution {
  readonly fallback: KernelFactory;
  readonly fromWords: (words: Int32Array, numbers: Float64Array) => void;
  /** Turns uniform numbers, whole blocks of them, into this distribution's. */
  readonly fromUniforms: (numbers: Float32Array, start: number, end: number) => void;
}

/** Whole blocks of four in WebAssembly; the ends, where the offset cuts a block, in JavaScript. */
function random({ fallback, fromWords, fromUniforms }: Distribution): KernelFactory {
  if (!hasSimd) return fallback;
  return (inputs, [out], attrs) => {
    expectContiguous(out!);
    if (out!.dtype === 'float64') return fallback(inputs, [out!], attrs);
    const size = sizeOf(out!.shape);
    const words = new Int32Array(4);
    const numbers = new Float64Array(4);
    const { uniform } = randomKernels();

    /** Elements `from` to `to` of the stream, of which number `start` goes to `index`. */
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
        uniform(from * 4, (to - from) / 4, low, high, key0, key1);
        fromUniforms(heap.f32, from, to);
      }
      writeSingly(seed, start, index, endWhole, end);
    };
  };
}

export const uniform = random({
  fallback: scalar.uniform,
  fromWords: toUniforms,
  fromUniforms: () => {},
});

export const normal = random({
  fallback: scalar.normal,
  fromWords: toNormals,
  fromUniforms: uniformsToNormals,
});
