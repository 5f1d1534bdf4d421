import { toNormals } from '../../../random/box-muller.ts';
import {
  doublesToNormals,
  randomBlock,
  toDoubleUniform,
  toUniforms,
} from '../../../random/philox.ts';
import { type DType, dtypes } from '../../../spec/dtype.ts';
import { halfFormats, isHalf } from '../../../spec/half.ts';
import { sizeOf } from '../../../spec/shape.ts';
import type { Launch } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';
import { toInt32 } from './pointwise.ts';

export const fill: KernelFactory = (_inputs, [out], attrs) => {
  expectContiguous(out!);
  const { dtype } = out!;
  const size = sizeOf(out!.shape);
  return (_sources, [target], now = attrs) => {
    const start = indexOf(target!, dtype);
    heap.view(dtype).fill(storedAs(dtype, now.value as number), start, start + size);
  };
};

export const literal: KernelFactory = (_inputs, [out], attrs) => {
  expectContiguous(out!);
  const { dtype } = out!;
  const values = attrs.values as readonly number[];
  return (_sources, [target]) => {
    const start = indexOf(target!, dtype);
    if (values.length > 0) heap.view(dtype).set(values, start);
  };
};

function storedAs(dtype: DType, number: number): number {
  if (dtype === 'bool') return +(number !== 0);
  if (isHalf(dtype)) return halfFormats[dtype].encode(number);
  // A uint8 wraps when it is stored.
  return dtypes[dtype].floating ? number : toInt32(number);
}

/** start, start + step, …: each computed separately, so that errors don't accumulate. */
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

/** Returns a kernel for numbers `offset`, `offset + 1`, … of the seed's stream. */
function random(draw: (words: Int32Array, numbers: Float64Array) => void): KernelFactory {
  return (_inputs, [out], attrs) => {
    expectContiguous(out!);
    if (out!.dtype === 'float64') return randomDoubles(draw === toNormals, out!, attrs);
    const size = sizeOf(out!.shape);
    const words = new Int32Array(4);
    const numbers = new Float64Array(4);
    return (_sources, [target], now = attrs) => {
      const seed = now.seed as number;
      const offset = now.offset as number;
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

/** Two words per element, and normal numbers in pairs. */
function randomDoubles(isNormal: boolean, out: TensorMeta, attrs: Attrs): Launch {
  const size = sizeOf(out.shape);
  return (_sources, [target], now = attrs) => {
    const seed = now.seed as number;
    const offset = now.offset as number;
    const start = indexOf(target!, 'float64');
    const words = new Int32Array(4);
    let block = -1;
    const wordAt = (position: number): number => {
      if (Math.floor(position / 4) !== block) {
        block = Math.floor(position / 4);
        randomBlock(seed, block, words);
      }
      return words[position % 4]!;
    };
    const pair = new Float64Array(2);
    for (let i = 0; i < size; i += 2) {
      for (let k = 0; k < 2; k++) {
        const at = offset + (i + k) * 2;
        pair[k] = toDoubleUniform(wordAt(at), wordAt(at + 1));
      }
      if (isNormal) doublesToNormals(pair);
      for (let k = 0; k < 2 && i + k < size; k++) heap.f64[start + i + k] = pair[k]!;
    }
  };
}

export const uniform = random(toUniforms);

export const normal = random(toNormals);
