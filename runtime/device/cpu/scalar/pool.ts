import { sizeOf } from '../../../spec/shape.ts';
import type { Attrs } from '../../kernel-op.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory, pairAttr } from '../core/kernel.ts';

/** The start and end position of each window along one dimension, and the step between positions. */
export interface Windows {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly step: number;
}

/** Windows are clipped to the plane, so that padding is never selected. */
export function sliding(size: number, count: number, attrs: Attrs, dim: number): Windows {
  const [kernel, stride] = [pairAttr(attrs, 'kernel')[dim]!, pairAttr(attrs, 'stride')[dim]!];
  const [padding, step] = [pairAttr(attrs, 'padding')[dim]!, pairAttr(attrs, 'dilation')[dim]!];
  const first = Array.from({ length: count }, (_, i) => i * stride - padding);
  return {
    // The first position of the window inside the plane.
    starts: first.map((start) => (start < 0 ? start + Math.ceil(-start / step) * step : start)),
    ends: first.map((start) => Math.min(start + (kernel - 1) * step + 1, size)),
    step,
  };
}

/** Splits a size into parts that are as equal as integers allow. */
export function equalParts(size: number, count: number): Windows {
  const parts = Array.from({ length: count }, (_, i) => i);
  return {
    starts: parts.map((i) => Math.floor((i * size) / count)),
    ends: parts.map((i) => Math.ceil(((i + 1) * size) / count)),
    step: 1,
  };
}

/** Positions are int32 in the plane, or uint8 from the start of the window, including padding. */
function largestOf(
  windowsAlong: (size: number, count: number, attrs: Attrs, dim: number) => Windows,
  kind: 'int32' | 'uint8',
): KernelFactory {
  return ([x], [out], attrs) => {
    expectContiguous(x!, out!);
    const [height, width] = [x!.shape[2]!, x!.shape[3]!];
    const [outHeight, outWidth] = [out!.shape[2]!, out!.shape[3]!];
    const planes = x!.shape[0]! * x!.shape[1]!;
    const rows = windowsAlong(height, outHeight, attrs, 0);
    const columns = windowsAlong(width, outWidth, attrs, 1);
    const { dtype } = x!;
    const startOf = kind === 'uint8' ? windowStarts(width, attrs) : () => 0;
    return ([source], [target, indices]) => {
      const data = heap.view(dtype);
      const places = heap.view(kind);
      let from = indexOf(source!, dtype);
      let to = indexOf(target!, dtype);
      let place = indexOf(indices!, kind);
      for (let plane = 0; plane < planes; plane++, from += height * width) {
        for (let oh = 0; oh < outHeight; oh++) {
          const [top, bottom] = [rows.starts[oh]!, rows.ends[oh]!];
          for (let ow = 0; ow < outWidth; ow++) {
            const [left, right] = [columns.starts[ow]!, columns.ends[ow]!];
            let best = top * width + left;
            let value = data[from + best]!;
            for (let h = top; h < bottom; h += rows.step) {
              for (let w = left; w < right; w += columns.step) {
                const candidate = data[from + h * width + w]!;
                // NaN wins, as does the first of equal elements.
                if (candidate > value || (Number.isNaN(candidate) && !Number.isNaN(value))) {
                  value = candidate;
                  best = h * width + w;
                }
              }
            }
            data[to++] = value;
            places[place++] = best - startOf(oh, ow);
          }
        }
      }
    };
  };
}

/** Returns where the window of an output starts in its plane, including padding. */
function windowStarts(width: number, attrs: Attrs): (row: number, column: number) => number {
  const [padding, stride] = [pairAttr(attrs, 'padding'), pairAttr(attrs, 'stride')];
  return (row, column) => (row * stride[0] - padding[0]) * width + column * stride[1] - padding[1];
}

export const maxPool2d = largestOf(sliding, 'int32');
export const maxPool2dCoded = largestOf(sliding, 'uint8');
export const adaptiveMaxPool2d = largestOf(equalParts, 'int32');

export const maxPool2dGrad: KernelFactory = ([dy, , x], [dx]) => {
  expectContiguous(dy!, dx!);
  const planeSize = x!.shape[2]! * x!.shape[3]!;
  const outPlane = dy!.shape[2]! * dy!.shape[3]!;
  const planes = x!.shape[0]! * x!.shape[1]!;
  const size = sizeOf(x!.shape);
  const { dtype } = dx!;
  return ([grad, indices], [target]) => {
    const data = heap.view(dtype);
    const places = heap.i32;
    let from = indexOf(grad!, dtype);
    let place = indexOf(indices!, 'int32');
    let to = indexOf(target!, dtype);
    data.fill(0, to, to + size);
    for (let plane = 0; plane < planes; plane++, to += planeSize) {
      for (let i = 0; i < outPlane; i++) {
        const at = to + places[place++]!;
        data[at] = data[at]! + data[from++]!;
      }
    }
  };
};

export const maxPool2dCodedGrad: KernelFactory = ([dy, , x], [dx], attrs) => {
  expectContiguous(dy!, dx!);
  const planeSize = x!.shape[2]! * x!.shape[3]!;
  const [outHeight, outWidth] = [dy!.shape[2]!, dy!.shape[3]!];
  const planes = x!.shape[0]! * x!.shape[1]!;
  const size = sizeOf(x!.shape);
  const { dtype } = dx!;
  const startOf = windowStarts(x!.shape[3]!, attrs);
  return ([grad, codes], [target]) => {
    const data = heap.view(dtype);
    const inWindow = heap.view('uint8');
    let from = indexOf(grad!, dtype);
    let code = indexOf(codes!, 'uint8');
    let to = indexOf(target!, dtype);
    data.fill(0, to, to + size);
    for (let plane = 0; plane < planes; plane++, to += planeSize) {
      for (let row = 0; row < outHeight; row++) {
        for (let column = 0; column < outWidth; column++) {
          const at = to + startOf(row, column) + inWindow[code++]!;
          data[at] = data[at]! + data[from++]!;
        }
      }
    }
  };
};
