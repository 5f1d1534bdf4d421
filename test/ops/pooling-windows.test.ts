/** Poolings are accepted where each window has an element, and then find places inside of the plane. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxPool1d, ones, type Tensor } from '../../runtime/index.ts';
import { bind } from '../../runtime/ops/core/bind.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';

interface Windows {
  readonly size: number;
  readonly kernel: number;
  readonly stride: number;
  readonly padding: number;
  readonly dilation: number;
  /** Windows more than fit. */
  readonly more: number;
}

const small = (min: number, max: number) => fc.integer({ min, max });

const windows = fc.record({
  size: small(1, 6),
  kernel: small(1, 4),
  stride: small(1, 4),
  padding: small(0, 4),
  dilation: small(1, 5),
  more: small(0, 1),
});

/** The first of the windows whose taps all lie beside the row. */
function emptyWindow({ size, kernel, stride, padding, dilation }: Windows, count: number): number {
  return Array.from({ length: count }, (_, i) => i).findIndex((i) =>
    Array.from({ length: kernel }, (_, tap) => i * stride - padding + tap * dilation).every(
      (place) => place < 0 || place >= size,
    ),
  );
}

function countOf({ size, kernel, stride, padding, dilation, more }: Windows): number {
  return Math.floor((size + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1 + more;
}

function expectInside(places: Tensor, size: number): void {
  for (const place of places.dataSync()) {
    expect(place).toBeGreaterThanOrEqual(0);
    expect(place).toBeLessThan(size);
  }
}

describe('ops/pooling-windows', () => {
  it('a window without an element is refused by the function', () => {
    fc.assert(
      fc.property(windows, (own) => {
        const { size, kernel, padding } = own;
        const count = countOf({ ...own, more: 0 });
        const fits = count >= 1 && 2 * padding <= kernel && emptyWindow(own, count) < 0;
        const run = () => {
          const { stride, dilation } = own;
          const options = { stride, padding, dilation, returnIndices: true } as const;
          return maxPool1d(ones([1, 2, size]), kernel, options) as unknown as [Tensor, Tensor];
        };
        if (fits) expectInside(run()[1], size);
        else expect(run).toThrow("the window doesn't fit");
      }),
      { numRuns: 500 },
    );
  });

  it('a window without an element is refused by the op, however many there are', () => {
    fc.assert(
      fc.property(windows, (own) => {
        const { size, kernel, stride, padding, dilation } = own;
        const count = countOf(own);
        if (count < 1) return;
        const attrs = {
          kernel: [1, kernel],
          stride: [1, stride],
          padding: [0, padding],
          dilation: [1, dilation],
          size: [1, count],
        };
        const run = () => bind(opNamed('maxPool2d'), [ones([1, 2, 1, size])], attrs);
        if (emptyWindow(own, count) < 0) expectInside(run()[1]!, size);
        else expect(run).toThrow('not sizes of windows');
      }),
      { numRuns: 500 },
    );
  });
});
