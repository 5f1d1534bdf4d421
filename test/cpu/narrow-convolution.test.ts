/** Convolutions with so few positions that their weights are read where they lie: the bits of wide ones. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { heap } from '../../runtime/device/cpu/core/heap.ts';
import { panelAAt } from '../../runtime/device/cpu/core/scratch.ts';
import { narrowColumns } from '../../runtime/device/cpu/wasm/narrow-product.ts';
import { cat, conv2d, randn, seed, type Tensor, tidy, zeros } from '../../src/index.ts';

interface Case {
  readonly batch: number;
  readonly groups: number;
  readonly channels: readonly [number, number];
  readonly kernel: number;
  readonly positions: number;
  readonly stride: number;
  readonly padding: number;
}

/** Whether a run has packed weights: it has written to where packed ones lie. */
function packs(run: () => void): boolean {
  const mark = 0x5a5a5a5a;
  const words = heap.i32.subarray(panelAAt / 4, panelAAt / 4 + 64);
  words.fill(mark);
  run();
  return words.some((word) => word !== mark);
}

/** The convolution, and the same positions of one with eight more behind them. */
function both({ batch, groups, channels, kernel, positions, stride, padding }: Case) {
  const [from, to] = channels;
  const width = (positions - 1) * stride + kernel;
  const image = randn([batch, from * groups, 1, width - 2 * padding]);
  const weight = randn([to * groups, from, 1, kernel]);
  const side = zeros([batch, from * groups, 1, padding]);
  const more = randn([batch, from * groups, 1, 8 * stride]);
  const longer = cat([side, image, side, more], 3);
  const run = (x: Tensor, amount: number) =>
    conv2d(x, weight, null, { stride: [1, stride], padding: [0, amount], groups });
  let narrow: Tensor | undefined;
  const packed = packs(() => {
    narrow = run(image, padding);
  });
  let wide: Tensor | undefined;
  const packedWide = packs(() => {
    wide = run(longer, 0);
  });
  expect(narrow!.shape[3]).toBe(positions);
  const expected = wide!.narrow(3, 0, positions).contiguous();
  return {
    found: narrow!.dataSync(),
    expected: expected.dataSync(),
    packed,
    packedWide,
  };
}

const cases = fc
  .record({
    batch: fc.integer({ min: 1, max: 3 }),
    groups: fc.integer({ min: 1, max: 2 }),
    channels: fc.tuple(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 37 })),
    kernel: fc.integer({ min: 1, max: 6 }),
    positions: fc.integer({ min: 1, max: narrowColumns }),
    stride: fc.integer({ min: 1, max: 3 }),
    padding: fc.integer({ min: 0, max: 2 }),
  })
  .filter((c) => (c.positions - 1) * c.stride + c.kernel > 2 * c.padding);

describe('narrow convolutions', () => {
  it('have the bits of wide ones, and pack no weights', () => {
    seed(11);
    let narrow = 0;
    fc.assert(
      fc.property(cases, (c) =>
        tidy(() => {
          const { found, expected, packed, packedWide } = both(c);
          expect(found).toEqual(expected);
          narrow += Number(!packed && packedWide);
        }),
      ),
      { numRuns: 200, seed: 5 },
    );
    // All but those of one or two rows, or few rows in groups, which are computed line by line.
    expect(narrow).toBeGreaterThan(120);
  });

  it('begin where packing stops to pay', () => {
    const base = {
      batch: 1,
      groups: 1,
      channels: [20, 16],
      kernel: 3,
      stride: 1,
      padding: 1,
    } as const;
    const packed = (positions: number) => tidy(() => both({ ...base, positions }).packed);
    expect(packed(narrowColumns)).toBe(false);
    expect(packed(narrowColumns + 1)).toBe(true);
  });
});
