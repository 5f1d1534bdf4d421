import type { Attrs } from '../../../ops/core/define-op.ts';
import { sizeOf } from '../../../tensor/shape.ts';
import { heap } from '../heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../kernel.ts';
import { alongDim } from '../reduction.ts';

/** The terms of each entry of the result: entries `indices[k]` times `weights[k]`, from starts[i] on. */
interface Taps {
  readonly starts: Int32Array;
  readonly indices: Int32Array;
  readonly weights: Float64Array;
}

type Tap = readonly [index: number, weight: number];

/** Catmull-Rom-like interpolation with a = −¾, as in PyTorch. */
function cubicWeights(t: number): number[] {
  const a = -0.75;
  const near = (d: number) => ((a + 2) * d - (a + 3)) * d * d + 1;
  const far = (d: number) => ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return [far(t + 1), near(t), near(1 - t), far(2 - t)];
}

function evenly(start: number, end: number, divisor: number): Tap[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, k) => [start + k, 1 / divisor]);
}

/** The taps of entry `i`, by the attribute `mode`. */
function tapsOf(i: number, size: number, count: number, attrs: Attrs): Tap[] {
  const { step, kernel, stride, padding, divisor } = attrs as Readonly<Record<string, number>>;
  const last = size - 1;
  const inside = (index: number) => Math.min(last, Math.max(0, index));
  const place = attrs.alignCorners ? i * step! : (i + 0.5) * step! - 0.5;
  switch (attrs.mode) {
    case 'nearest':
      return [[Math.min(last, Math.floor(i * step!)), 1]];
    case 'nearest-exact':
      return [[Math.min(last, Math.floor((i + 0.5) * step!)), 1]];
    case 'linear': {
      const from = Math.max(0, place);
      const low = Math.min(last, Math.floor(from));
      const share = from - low;
      return low === last || share === 0
        ? [[low, 1]]
        : [
            [low, 1 - share],
            [low + 1, share],
          ];
    }
    case 'cubic': {
      const low = Math.floor(place);
      return cubicWeights(place - low).map((weight, k) => [inside(low - 1 + k), weight]);
    }
    case 'area': {
      const start = Math.floor((i * size) / count);
      const end = Math.ceil(((i + 1) * size) / count);
      return evenly(start, end, end - start);
    }
    default: {
      const from = i * stride! - padding!;
      const to = Math.min(from + kernel!, size + padding!);
      const [start, end] = [Math.max(0, from), Math.min(to, size)];
      // 0: the window's own size with the border, −1: without it.
      return evenly(start, end, divisor! > 0 ? divisor! : divisor === 0 ? to - from : end - start);
    }
  }
}

function allTaps(size: number, count: number, attrs: Attrs): Taps {
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
