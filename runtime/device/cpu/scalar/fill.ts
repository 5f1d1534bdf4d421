import { randomBlock, toNormals, toUniforms } from '../../../random/philox.ts';
import { sizeOf } from '../../../tensor/shape.ts';
import { heap } from '../heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../kernel.ts';
import { toInt32 } from './pointwise.ts';

export const fill: KernelFactory = (_inputs, [out], { value }) => {
  expectContiguous(out!);
  const { dtype } = out!;
  const size = sizeOf(out!.shape);
  const number = value as number;
  const stored =
    dtype === 'float32' ? number : dtype === 'int32' ? toInt32(number) : +(number !== 0);
  return (_sources, [target]) => {
    const start = indexOf(target!, dtype);
    heap.view(dtype).fill(stored, start, start + size);
  };
};

/** start, start + step, …: each computed by itself, so that no error adds up. */
export const arange: KernelFactory = (_inputs, [out], attrs) => {
  const count = attrs.count as number;
  const start = attrs.start as number;
  const step = attrs.step as number;
  return (_sources, [target]) => {
    const data = heap.view(out!.dtype);
    const to = indexOf(target!, out!.dtype);
    for (let i = 0; i < count; i++) data[to + i] = start + i * step;
  };
};

/** Numbers `offset`, `offset + 1`, … of the seed's stream. */
function random(draw: (words: Int32Array, numbers: Float64Array) => void): KernelFactory {
  return (_inputs, [out], attrs) => {
    expectContiguous(out!);
    const size = sizeOf(out!.shape);
    const seed = attrs.seed as number;
    const offset = attrs.offset as number;
    const words = new Int32Array(4);
    const numbers = new Float64Array(4);
    return (_sources, [target]) => {
      const start = indexOf(target!, 'float32');
      const end = offset + size;
      for (let block = Math.floor(offset / 4); block * 4 < end; block++) {
        randomBlock(seed, block, words);
        draw(words, numbers);
        const from = Math.max(offset, block * 4);
        const to = Math.min(end, block * 4 + 4);
        for (let i = from; i < to; i++) heap.f32[start + i - offset] = numbers[i - block * 4]!;
      }
    };
  };
}

export const uniform = random(toUniforms);

export const normal = random(toNormals);
