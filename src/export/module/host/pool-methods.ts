/** JavaScript kernels for maxima of windows and their gradient; each is written into a module as text. */

import type { HostMemory } from './host-methods.ts';

type Numbers = readonly number[];

export const poolMethods = {
  /**
   * Positions are counted from the start of an output's window: the first one's `origin`, plus steps by row and
   * column.
   */
  maxPool(
    view: 'f32' | 'f64',
    placesView: 'i32' | 'u8',
    [source, target, indices]: Numbers,
    [planes, height, width]: Numbers,
    [tops, bottoms, lefts, rights]: readonly Numbers[],
    [rowStep, columnStep]: Numbers,
    [origin, byRow, byColumn]: Numbers,
  ) {
    const [data, places] = [this[view], this[placesView]];
    let [to, place] = [target!, indices!];
    for (let plane = 0; plane < planes!; plane++) {
      const from = source! + plane * height! * width!;
      for (let oh = 0; oh < tops!.length; oh++) {
        for (let ow = 0; ow < lefts!.length; ow++) {
          let best = tops![oh]! * width! + lefts![ow]!;
          let value = data[from + best]!;
          for (let h = tops![oh]!; h < bottoms![oh]!; h += rowStep!) {
            for (let w = lefts![ow]!; w < rights![ow]!; w += columnStep!) {
              const other = data[from + h * width! + w]!;
              if (other > value || (Number.isNaN(other) && !Number.isNaN(value))) {
                value = other;
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
    view: 'f32' | 'f64',
    placesView: 'i32' | 'u8',
    [dy, places, dx]: Numbers,
    [planes, planeSize, outHeight, outWidth]: Numbers,
    [origin, byRow, byColumn]: Numbers,
  ) {
    const [data, at] = [this[view], this[placesView]];
    data.fill(0, dx, dx! + planes! * planeSize!);
    let k = 0;
    for (let plane = 0; plane < planes!; plane++) {
      for (let row = 0; row < outHeight!; row++) {
        for (let column = 0; column < outWidth!; column++, k++) {
          const start = origin! + row * byRow! + column * byColumn!;
          const to = dx! + plane * planeSize! + start + at[places! + k]!;
          data[to] = data[to]! + data[dy! + k]!;
        }
      }
    }
  },
} satisfies Record<string, unknown> & ThisType<HostMemory>;
