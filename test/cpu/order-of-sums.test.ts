/** Sums and products take elements in the order of the shape: bits don't depend on how a tensor lies in memory. */

import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Shape, sizeOf } from '../../runtime/spec/shape.ts';
import { expectSame } from '../expect-same.ts';
import { compute, contiguousLayout, type Layout, noise, release, sample } from './samples.ts';

const dtypes = ['float32', 'float64'] as const;
/** Rows longer than what the kernel adds up at once, and dimensions of any size beside them. */
const shapes: readonly Shape[] = [
  [70_001],
  [3, 66_000],
  [4_200, 5],
  [9_001, 2],
  [130, 300],
  [17, 40, 9],
  [33, 1, 70, 16],
  [5, 64, 3, 31],
];

interface Case {
  readonly shape: Shape;
  readonly layout: Layout;
  readonly dims: readonly number[];
  /** The dimensions by their strides, the largest first. */
  readonly order: readonly number[];
}

const cases: fc.Arbitrary<Case> = fc.constantFrom(...shapes).chain((shape) => {
  const all = shape.map((_, d) => d);
  return fc
    .record({
      dims: fc.subarray(all, { minLength: 1 }),
      order: fc.shuffledSubarray(all, { minLength: all.length }),
      gaps: fc.array(fc.constantFrom(0, 0, 1, 3), { minLength: 4, maxLength: 4 }),
      repeated: fc.array(fc.constantFrom(false, false, true), { minLength: 4, maxLength: 4 }),
      offset: fc.nat(5),
    })
    .map(({ dims, order, gaps, repeated, offset }) => {
      const strides = new Array<number>(shape.length).fill(0);
      let stride = gaps[3] === 3 ? 2 : 1;
      for (const d of order.toReversed()) {
        if (repeated[d]) continue;
        strides[d] = stride;
        stride *= shape[d]! + gaps[d]!;
      }
      return { shape, dims, order, layout: { strides, offset, span: offset + stride } };
    });
});

/** Products of these numbers around 1 stay finite. */
const values = Float64Array.from({ length: Math.max(...shapes.map(sizeOf)) }, (_, i) => {
  return 1 + noise(3)(i) / 300;
});

const sorted = (list: readonly number[]): Float64Array => Float64Array.from(list).sort();

describe('cpu/order of sums', () => {
  it('has the bits of a contiguous tensor, whatever the strides', () => {
    let strided = 0;
    let decided = 0;
    const check = ({ shape, layout, dims, order }: Case, wide: boolean) => {
      const dtype = dtypes[wide ? 1 : 0];
      const x = sample(dtype, shape, (i) => values[i]!, layout);
      const whole = sample(dtype, shape, (i) => x.values[i]!);
      const target = shape.map((size, d) => (dims.includes(d) ? 1 : size));
      const outputs = [{ dtype, shape: target }];
      const attrs = { dims, keepDim: true };
      for (const kernel of ['sum', 'prod'] as const) {
        const expected = compute(kernel, [whole], outputs, attrs);
        expectSame(compute(kernel, [x], outputs, attrs), expected);
      }
      const like = sample(dtype, target, () => 0, contiguousLayout(target));
      const expected = compute('sumTo', [whole, like], outputs);
      expectSame(compute('sumTo', [x, like], outputs), expected);
      if (sizeOf(shape) > 2 && layout.strides.join() !== whole.meta.strides.join()) strided++;
      // The same elements as they follow one another in memory.
      const inMemory = sample(
        dtype,
        order.map((d) => shape[d]!),
        (i) => x.values[placeOf(i, shape, order)]!,
      );
      const sums = compute('sum', [inMemory], [{ dtype, shape: [sizeOf(target)] }], {
        dims: order.flatMap((d, at) => (dims.includes(d) ? [at] : [])),
        keepDim: false,
      });
      if (!isDeepStrictEqual(sorted(sums[0]!), sorted(expected[0]!))) decided++;
      release(x, whole, like, inMemory);
    };
    fc.assert(fc.property(cases, fc.boolean(), check), { numRuns: 150 });
    expect(strided).toBeGreaterThan(75);
    expect(decided).toBeGreaterThan(30);
  });
});

/** The row-major place in `shape` of element `i` where the dimensions are nested in another order. */
function placeOf(i: number, shape: Shape, order: readonly number[]): number {
  const at = new Array<number>(shape.length).fill(0);
  let rest = i;
  for (const d of order.toReversed()) {
    at[d] = rest % shape[d]!;
    rest = Math.floor(rest / shape[d]!);
  }
  return at.reduce((place, own, d) => place * shape[d]! + own, 0);
}
