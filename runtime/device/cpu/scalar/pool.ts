import type { Attrs } from '../../kernel-op.ts';
import { hostKernel, hostMethods, type Numbers, type RealView } from '../core/host-kernels.ts';
import { pairAttr } from '../core/kernel.ts';

/** The start and end position of each window along one dimension, and the step between positions. */
export interface Windows {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly step: number;
}

/** Clips windows to the plane, so that padding is never selected. */
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

/** Splits a size into parts of nearly equal sizes. */
export function equalParts(size: number, count: number): Windows {
  const parts = Array.from({ length: count }, (_, i) => i);
  return {
    starts: parts.map((i) => Math.floor((i * size) / count)),
    ends: parts.map((i) => Math.ceil(((i + 1) * size) / count)),
    step: 1,
  };
}

/**
 * Positions are int32 in the plane, or uint8 from the start of the window, including padding. The windows' origin is
 * the start of the first one, with the steps by row and column.
 */
export const poolMethods = hostMethods({
  maxPool(
    view: RealView,
    [source, target, indices]: Numbers,
    placesView: 'i32' | 'u8',
    [planes, height, width]: Numbers,
    [tops, bottoms, lefts, rights]: readonly Numbers[],
    [rowStep, columnStep]: Numbers,
    [origin, byRow, byColumn]: Numbers,
  ): void {
    const [data, places] = [this[view], this[placesView]];
    let [from, to, place] = [source!, target!, indices!];
    for (let plane = 0; plane < planes!; plane++, from += height! * width!) {
      for (let oh = 0; oh < tops!.length; oh++) {
        const [top, bottom] = [tops![oh]!, bottoms![oh]!];
        for (let ow = 0; ow < lefts!.length; ow++) {
          const [left, right] = [lefts![ow]!, rights![ow]!];
          let best = top * width! + left;
          let value = data[from + best]!;
          for (let h = top; h < bottom; h += rowStep!) {
            for (let w = left; w < right; w += columnStep!) {
              const candidate = data[from + h * width! + w]!;
              // NaN wins, as does the first of equal elements.
              if (candidate > value || (Number.isNaN(candidate) && !Number.isNaN(value))) {
                value = candidate;
                best = h * width! + w;
              }
            }
          }
          data[to++] = value;
          places[place++] = best - (origin! + oh * byRow! + ow * byColumn!);
        }
      }
    }
  },

  maxPoolGrad(
    view: RealView,
    [dy, indices, dx]: Numbers,
    placesView: 'i32' | 'u8',
    [planes, planeSize, outHeight, outWidth]: Numbers,
    [origin, byRow, byColumn]: Numbers,
  ): void {
    const [data, places] = [this[view], this[placesView]];
    let [from, place, to] = [dy!, indices!, dx!];
    data.fill(0, to, to + planes! * planeSize!);
    for (let plane = 0; plane < planes!; plane++, to += planeSize!) {
      for (let row = 0; row < outHeight!; row++) {
        for (let column = 0; column < outWidth!; column++) {
          const at = to + origin! + row * byRow! + column * byColumn! + places[place++]!;
          data[at] = data[at]! + data[from++]!;
        }
      }
    }
  },
});

function originOf(isCoded: boolean, width: number, attrs: Attrs): Numbers {
  if (!isCoded) return [0, 0, 0];
  const [padding, stride] = [pairAttr(attrs, 'padding'), pairAttr(attrs, 'stride')];
  return [-padding[0] * width - padding[1], stride[0] * width, stride[1]];
}

const largestOf = (
  windowsAlong: (size: number, count: number, attrs: Attrs, dim: number) => Windows,
  isCoded = false,
) =>
  hostKernel(
    poolMethods,
    'maxPool',
    ([x], [out, places]) => [x, out, places],
    ([x], [out], attrs) => {
      const [batch, channels, height, width] = x!.shape as [number, number, number, number];
      const rows = windowsAlong(height, out!.shape[2]!, attrs, 0);
      const columns = windowsAlong(width, out!.shape[3]!, attrs, 1);
      return [
        isCoded ? 'u8' : 'i32',
        [batch * channels, height, width],
        [rows.starts, rows.ends, columns.starts, columns.ends],
        [rows.step, columns.step],
        originOf(isCoded, width, attrs),
      ];
    },
  );

export const maxPool2d = largestOf(sliding);
export const maxPool2dCoded = largestOf(sliding, true);
export const adaptiveMaxPool2d = largestOf(equalParts);

const toLargest = (isCoded: boolean) =>
  hostKernel(
    poolMethods,
    'maxPoolGrad',
    ([dy, places], [dx]) => [dy, places, dx],
    ([dy, , x], _outputs, attrs) => {
      const [batch, channels, height, width] = x!.shape as [number, number, number, number];
      return [
        isCoded ? 'u8' : 'i32',
        [batch * channels, height * width, dy!.shape[2]!, dy!.shape[3]!],
        originOf(isCoded, width, attrs),
      ];
    },
  );

export const maxPool2dGrad = toLargest(false);
export const maxPool2dCodedGrad = toLargest(true);
