import { tapsOf } from '../../../numerics/taps.ts';
import { sizeOf } from '../../../spec/shape.ts';
import type { Attrs } from '../../kernel-op.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';
import { alongDim } from '../core/reduction.ts';

/** The terms of each entry of the result: entries `indices[k]` times `weights[k]`, starting at starts[i]. */
interface Taps {
  readonly starts: Int32Array;
  readonly indices: Int32Array;
  readonly weights: Float64Array;
}

export function allTaps(size: number, count: number, attrs: Attrs): Taps {
  const lists = Array.from({ length: count }, (_, i) => tapsOf(i, size, count, attrs));
  const starts = new Int32Array(count + 1);
  lists.forEach((list, i) => {
    starts[i + 1] = starts[i]! + list.length;
  });
  const flat = lists.flat();
  return {
    starts,
    indices: Int32Array.from(flat, ([index]) => index),
    weights: Float64Array.from(flat, ([, weight]) => weight),
  };
}

export const resample: KernelFactory = ([x], [out], attrs) => {
  expectContiguous(x!, out!);
  const { dtype } = x!;
  const dim = attrs.dim as number;
  const { size, stride, outer } = alongDim(x!.shape, dim);
  const count = out!.shape[dim]!;
  const { starts, indices, weights } = allTaps(size, count, attrs);
  const row = new Float64Array(stride);
  return ([source], [target]) => {
    const data = heap.view(dtype);
    let to = indexOf(target!, dtype);
    for (let o = 0; o < outer; o++) {
      const from = indexOf(source!, dtype) + o * size * stride;
      if (stride === 1) {
        for (let i = 0; i < count; i++) {
          let sum = 0;
          const end = starts[i + 1]!;
          for (let k = starts[i]!; k < end; k++) sum += weights[k]! * data[from + indices[k]!]!;
          data[to++] = sum;
        }
        continue;
      }
      for (let i = 0; i < count; i++) {
        row.fill(0);
        for (let k = starts[i]!; k < starts[i + 1]!; k++) {
          const weight = weights[k]!;
          const at = from + indices[k]! * stride;
          for (let j = 0; j < stride; j++) row[j]! += weight * data[at + j]!;
        }
        for (let j = 0; j < stride; j++) data[to++] = row[j]!;
      }
    }
  };
};

export const resampleGrad: KernelFactory = ([dy, x], [dx], attrs) => {
  expectContiguous(dy!, dx!);
  const { dtype } = dy!;
  const dim = attrs.dim as number;
  const { size, stride, outer } = alongDim(x!.shape, dim);
  const count = dy!.shape[dim]!;
  const { starts, indices, weights } = allTaps(size, count, attrs);
  const total = sizeOf(x!.shape);
  return ([grad], [target]) => {
    const data = heap.view(dtype);
    const to = indexOf(target!, dtype);
    let from = indexOf(grad!, dtype);
    data.fill(0, to, to + total);
    for (let o = 0; o < outer; o++) {
      if (stride === 1) {
        const first = to + o * size;
        for (let i = 0; i < count; i++) {
          const gradient = data[from++]!;
          const end = starts[i + 1]!;
          for (let k = starts[i]!; k < end; k++)
            data[first + indices[k]!]! += weights[k]! * gradient;
        }
        continue;
      }
      for (let i = 0; i < count; i++, from += stride) {
        for (let k = starts[i]!; k < starts[i + 1]!; k++) {
          const weight = weights[k]!;
          const at = to + (o * size + indices[k]!) * stride;
          for (let j = 0; j < stride; j++) data[at + j]! += weight * data[from + j]!;
        }
      }
    }
  };
};
