import { sizeOf } from '../../tensor/shape.ts';
import { heap } from './heap.ts';
import { addressOf, expectContiguous, type KernelFactory } from './kernel.ts';
import { randomBlock, toUniform, twoWords } from './philox.ts';
import { uniform as scalarUniform } from './scalar/fill.ts';
import { hasSimd } from './wasm/module-builder.ts';
import { randomKernels } from './wasm/random-kernels.ts';

/** Whole blocks of four in WebAssembly; the ends, where the offset cuts a block, in JavaScript. */
export const uniform: KernelFactory = (inputs, outputs, attrs) => {
  if (!hasSimd) return scalarUniform(inputs, outputs, attrs);
  const [out] = outputs;
  expectContiguous(out!);
  const seed = attrs.seed as number;
  const start = attrs.offset as number;
  const end = start + sizeOf(out!.shape);
  const firstWhole = Math.min(Math.ceil(start / 4) * 4, end);
  const endWhole = Math.max(Math.floor(end / 4) * 4, firstWhole);
  const words = new Int32Array(4);
  const kernel = randomKernels().uniform;
  const [key0, key1] = twoWords(seed);

  const writeSingly = (address: number, from: number, to: number): void => {
    for (let i = from; i < to; i++) {
      if (i === from || i % 4 === 0) randomBlock(seed, Math.floor(i / 4), words);
      heap.f32[address / 4 + i - start] = toUniform(words[i % 4]!);
    }
  };
  return (_sources, [target]) => {
    const address = addressOf(target!, 'float32');
    writeSingly(address, start, firstWhole);
    const [low, high] = twoWords(firstWhole / 4);
    const blocks = (endWhole - firstWhole) / 4;
    if (blocks > 0) kernel(address + (firstWhole - start) * 4, blocks, low, high, key0, key1);
    writeSingly(address, endWhole, end);
  };
};
