/** `gridSample` beside plain loops over the pixels around each position. */

import { type GridSampleOptions, gridSample, type Tensor } from '../../runtime/index.ts';
import { at, type FunctionalCase, type Nested, range, total } from './plain-loops.ts';

type Padding = NonNullable<GridSampleOptions['paddingMode']>;
type Mode = 'bilinear' | 'bicubic';

const clamped = (place: number, size: number): number => Math.min(Math.max(place, 0), size - 1);

/** Where the padding finds the place, which may still be outside for zeros. */
function padded(place: number, size: number, padding: Padding, corners: boolean): number {
  if (padding === 'zeros') return place;
  let own = place;
  const [first, last] = corners ? [0, size - 1] : [-0.5, size - 0.5];
  if (padding === 'reflection') {
    if (first === last) return 0;
    while (own < first || own > last) own = own < first ? 2 * first - own : 2 * last - own;
  }
  return clamped(own, size);
}

/** The factor of a pixel at this distance. */
function factor(mode: Mode, distance: number): number {
  const t = Math.abs(distance);
  if (mode === 'bilinear') return Math.max(0, 1 - t);
  const a = -0.75;
  if (t <= 1) return (a + 2) * t ** 3 - (a + 3) * t ** 2 + 1;
  return t < 2 ? a * t ** 3 - 5 * a * t ** 2 + 8 * a * t - 4 * a : 0;
}

function sampled(x: Nested, grid: Nested, mode: Mode, padding: Padding, corners: boolean) {
  const [n, c, h, w] = x.shape as [number, number, number, number];
  const [, oh, ow] = grid.shape as [number, number, number];
  const place = (unit: number, size: number) => {
    const own = corners ? ((unit + 1) / 2) * (size - 1) : ((unit + 1) * size - 1) / 2;
    return mode === 'bilinear' ? padded(own, size, padding, corners) : own;
  };
  const around = (position: number, size: number) =>
    [-1, 0, 1, 2].map((step) => {
      const pixel = Math.floor(position) + step;
      const found = mode === 'bilinear' ? pixel : padded(pixel, size, padding, corners);
      return [found, factor(mode, position - pixel)] as const;
    });
  return range(n).flatMap((b) =>
    range(c).flatMap((channel) =>
      range(oh).flatMap((i) =>
        range(ow).map((j) => {
          const columns = around(place(at(grid, [b, i, j, 0]), w), w);
          const rows = around(place(at(grid, [b, i, j, 1]), h), h);
          return total(
            rows.flatMap(([row, down]) =>
              columns.map(([column, right]) => at(x, [b, channel, row, column]) * down * right),
            ),
          );
        }),
      ),
    ),
  );
}

export const gridSampleCases = (['bilinear', 'bicubic'] as const).flatMap((mode) =>
  [true, false].flatMap((alignCorners) =>
    (['zeros', 'border', 'reflection'] as const).map(
      (paddingMode): FunctionalCase => ({
        name: `gridSample, ${mode}, ${paddingMode}, corners ${alignCorners ? 'aligned' : 'not aligned'}`,
        // One row alone has nothing to reflect at its centers.
        shapes: [
          [2, 1, mode === 'bicubic' ? 1 : 3, 4],
          [2, 2, 3, 2],
        ],
        // Beyond the edges, too.
        run: (x, g) => gridSample(x!, (g as Tensor).mul(2.3), { mode, paddingMode, alignCorners }),
        expected: (x, g) => {
          const grid = Object.assign(
            g!.map((v) => v * 2.3),
            { shape: g!.shape },
          );
          return sampled(x!, grid, mode, paddingMode, alignCorners);
        },
      }),
    ),
  ),
);
