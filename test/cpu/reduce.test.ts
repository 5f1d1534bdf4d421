import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KernelFactory } from '../../runtime/device/cpu/core/kernel.ts';
import type { ReductionKind } from '../../runtime/device/cpu/core/reduction.ts';
import { reduction } from '../../runtime/device/cpu/scalar/reduce.ts';
import {
  compute,
  contiguousLayout,
  error,
  layouts,
  noise,
  release,
  type Sample,
  sample,
  shapes,
} from './samples.ts';

/** Combines, in float64, all elements that fall together when `dims` go. */
function reference(
  x: Sample,
  dims: readonly number[],
  start: number,
  combine: (a: number, b: number) => number,
): number[] {
  const { shape } = x.meta;
  const kept = shape.map((_, d) => d).filter((d) => !dims.includes(d));
  const out = new Array<number>(kept.reduce((size, d) => size * shape[d]!, 1)).fill(start);
  x.values.forEach((value, i) => {
    const place = kept.reduce((at, d) => {
      const stride = shape.slice(d + 1).reduce((a, b) => a * b, 1);
      return at * shape[d]! + (Math.floor(i / stride) % shape[d]!);
    }, 0);
    out[place] = combine(out[place]!, value);
  });
  return out;
}

const oneByOne =
  (kind: ReductionKind): KernelFactory =>
  ([x], [out], { dims }) =>
    reduction(x!, out!, dims as number[], kind);

const cases = shapes
  .filter((shape) => shape.length > 0)
  .chain((shape) =>
    fc.record({
      shape: fc.constant(shape),
      layout: layouts(shape),
      dims: fc.subarray(
        shape.map((_, d) => d),
        { minLength: 1 },
      ),
    }),
  );

const out = (size: number, dtype: 'float32' | 'int32' = 'float32') => [{ dtype, shape: [size] }];

describe('sum and max', () => {
  it('hold for any shape, strides and dimensions', () => {
    fc.assert(
      fc.property(cases, ({ shape, layout, dims }) => {
        const x = sample('float32', shape, noise(1), layout);
        const sums = reference(x, dims, 0, (a, b) => a + b);
        const largest = reference(x, dims, Number.NEGATIVE_INFINITY, Math.max);
        const target = out(sums.length);
        const attrs = { dims, keepDim: false };
        // Sums of numbers around 0 may nearly cancel: measure by the size of the terms.
        for (const kernel of ['sum', oneByOne('sum')] as const) {
          const [actual] = compute(kernel, [x], target, attrs);
          expect(error([...actual!, 2], [...sums, 2])).toBeLessThan(3e-6);
        }
        expect(compute('max', [x], target, attrs)[0]).toEqual(largest);
        expect(compute(oneByOne('max'), [x], target, attrs)[0]).toEqual(largest);
        release(x);
      }),
      { numRuns: 200 },
    );
  });

  it('int32 wraps, and max keeps integers exact', () => {
    const x = sample('int32', [2, 3], (i) => [2 ** 31 - 1, 1, 0, 16777217, -5, -16777217][i]!);
    const attrs = { dims: [1], keepDim: false };
    expect(compute('sum', [x], out(2, 'int32'), attrs)[0]).toEqual([-(2 ** 31), -5]);
    expect(compute('max', [x], out(2, 'int32'), attrs)[0]).toEqual([2 ** 31 - 1, 16777217]);
    release(x);
  });

  it('int32: each kind is that of one element after the other', () => {
    const kinds = ['sum', 'prod', 'max', 'min'] as const;
    fc.assert(
      fc.property(cases, fc.nat(), ({ shape, layout, dims }, seed) => {
        const number = noise(seed);
        const x = sample('int32', shape, (i) => Math.round(number(i) * 2 ** 31), layout);
        const kept = shape.filter((_, d) => !dims.includes(d));
        const target = out(
          kept.reduce((size, each) => size * each, 1),
          'int32',
        );
        const attrs = { dims, keepDim: false };
        for (const kind of kinds) {
          const expected = compute(oneByOne(kind), [x], target, attrs);
          expect(compute(kind, [x], target, attrs), kind).toEqual(expected);
        }
        release(x);
      }),
      { numRuns: 200 },
    );
  });

  it('max propagates NaN', () => {
    for (const length of [3, 20, 40]) {
      for (const shape of [
        [1, length],
        [length, 1],
        [length, 20],
      ] as const) {
        const dims = shape[0] === 1 ? [1] : [0];
        const x = sample('float32', [...shape], (i) => (i === 2 ? Number.NaN : i));
        const expected = reference(x, dims, Number.NEGATIVE_INFINITY, Math.max);
        expect(compute('max', [x], out(expected.length), { dims, keepDim: false })[0]).toEqual(
          expected,
        );
        release(x);
      }
    }
  });

  it('stay exact over many equal numbers', () => {
    const size = 3_000_000;
    const x = sample('float32', [size], () => 0.1);
    const expected = size * Math.fround(0.1);
    for (const kernel of ['sum', oneByOne('sum')] as const) {
      const [[total]] = compute(kernel, [x], out(1), { dims: [0], keepDim: false }) as [[number]];
      expect(Math.abs(total - expected) / expected).toBeLessThan(2e-6);
    }
    const column = { ...x, meta: { ...x.meta, shape: [size / 8, 8], strides: [8, 1] } };
    const sums = compute('sum', [column], out(8), { dims: [0], keepDim: false })[0]!;
    for (const total of sums) expect(Math.abs(total * 8 - expected) / expected).toBeLessThan(2e-6);
    release(x);
  });

  it('an empty sum is 0', () => {
    const x = sample('float32', [2, 0], () => 0);
    expect(compute('sum', [x], out(2), { dims: [1], keepDim: false })[0]).toEqual([0, 0]);
    release(x);
  });
});

describe('sumTo', () => {
  it('undoes any broadcast', () => {
    const broadcasts = shapes.chain((shape) =>
      fc.record({
        shape: fc.constant(shape),
        layout: layouts(shape),
        skip: fc.nat(shape.length),
        ones: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      }),
    );
    fc.assert(
      fc.property(broadcasts, ({ shape, layout, skip, ones }) => {
        const x = sample('float32', shape, noise(2), layout);
        const target = shape.slice(skip).map((dim, d) => (ones[d] ? 1 : dim));
        const dims = shape.map((_, d) => d).filter((d) => d < skip || target[d - skip] === 1);
        const like = sample('float32', target, () => 0, contiguousLayout(target));
        const [actual] = compute('sumTo', [x, like], [{ dtype: 'float32', shape: target }]);
        const expected = reference(x, dims, 0, (a, b) => a + b);
        expect(error([...actual!, 2], [...expected, 2])).toBeLessThan(3e-6);
        release(x, like);
      }),
      { numRuns: 100 },
    );
  });
});

describe('argmax', () => {
  it('answers the first maximum along any dimension', () => {
    const arrays = shapes.filter((shape) => shape.length > 0);
    fc.assert(
      fc.property(arrays, fc.nat(3), (shape, choice) => {
        const dim = choice % shape.length;
        const x = sample('float32', shape, (i) => Math.round(noise(3)(i)));
        const size = shape[dim]!;
        const stride = shape.slice(dim + 1).reduce((a, b) => a * b, 1);
        const expected: number[] = [];
        for (let i = 0; i < x.values.length; i++) {
          if (Math.floor(i / stride) % size !== 0) continue;
          const line = Array.from({ length: size }, (_, k) => x.values[i + k * stride]!);
          expected.push(line.indexOf(Math.max(...line)));
        }
        const target = out(expected.length, 'int32');
        expect(compute('argmax', [x], target, { dim })[0]).toEqual(expected);
        release(x);
      }),
      { numRuns: 60 },
    );
  });

  it('counts the first NaN as the maximum', () => {
    const x = sample('float32', [4], (i) => [3, Number.NaN, 9, Number.NaN][i]!);
    expect(compute('argmax', [x], out(1, 'int32'), { dim: 0 })[0]).toEqual([1]);
    release(x);
  });
});
