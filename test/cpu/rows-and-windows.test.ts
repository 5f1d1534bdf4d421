import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KernelFactory } from '../../runtime/device/cpu/core/kernel.ts';
import * as pool from '../../runtime/device/cpu/scalar/pool.ts';
import * as scalar from '../../runtime/device/cpu/scalar/softmax.ts';
import type { KernelName } from '../../runtime/device/kernel-names.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { compute, error, noise, release, type Sample, sample } from './samples.ts';

/** Applies a float64 function to every row. */
function byRow(inputs: readonly Sample[], row: (...rows: number[][]) => number[]): number[] {
  const length = inputs[0]!.meta.shape.at(-1)!;
  const rows = inputs[0]!.values.length / length;
  return Array.from({ length: rows }, (_, r) =>
    row(...inputs.map(({ values }) => values.slice(r * length, (r + 1) * length))),
  ).flat();
}

const total = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

function softmaxOf(row: number[]): number[] {
  const max = Math.max(...row);
  const terms = row.map((v) => Math.exp(v - max));
  return terms.map((e) => e / total(terms));
}

const references = {
  softmax: (x: number[]) => softmaxOf(x),
  logSoftmax: (x: number[]) => softmaxOf(x).map(Math.log),
  softmaxGrad: (dy: number[], out: number[]) => {
    const sum = total(dy.map((d, i) => d * out[i]!));
    return dy.map((d, i) => (d - sum) * out[i]!);
  },
  logSoftmaxGrad: (dy: number[], out: number[]) => {
    const sum = total(dy);
    return dy.map((d, i) => d - Math.exp(out[i]!) * sum);
  },
} as const;

describe('softmax, logSoftmax and their gradients', () => {
  it('hold for rows of any length', () => {
    const sizes = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 37 }));
    fc.assert(
      fc.property(sizes, ([rows, length]) => {
        const shape = [rows, length];
        const x = sample('float32', shape, (i) => noise(1)(i) * 4);
        const dy = sample('float32', shape, noise(2));
        for (const name of ['softmax', 'logSoftmax', 'softmaxGrad', 'logSoftmaxGrad'] as const) {
          const inputs = name.endsWith('Grad') ? [dy, x] : [x];
          const expected = byRow(inputs, references[name] as (...rows: number[][]) => number[]);
          const target = [{ dtype: 'float32' as const, shape }];
          const fallback = { ...scalar }[name];
          expect(error(compute(name, inputs, target)[0]!, expected), name).toBeLessThan(3e-6);
          expect(error(compute(fallback, inputs, target)[0]!, expected), name).toBeLessThan(3e-6);
        }
        release(x, dy);
      }),
      { numRuns: 60 },
    );
  });

  it('take large scores without overflow, and −∞ as impossible', () => {
    const shape = [2, 5];
    const scores = [1000, 999, -1000, 0, 1000, 3, Number.NEGATIVE_INFINITY, 3, 3, 3];
    const x = sample('float32', shape, (i) => scores[i]!);
    const target = [{ dtype: 'float32' as const, shape }];
    const expected = byRow([x], references.softmax);
    expect(error(compute('softmax', [x], target)[0]!, expected)).toBeLessThan(1e-6);
    const logs = compute('logSoftmax', [x], target)[0]!;
    expect(logs[2]).toBeCloseTo(-2000.86, 1);
    expect(logs[6]).toBe(Number.NEGATIVE_INFINITY);
    expect(logs[5]).toBeCloseTo(-Math.log(4), 6);
    release(x);
  });
});

describe('maxPool2d', () => {
  interface Pooling {
    readonly planes: number;
    readonly size: [number, number];
    readonly kernel: [number, number];
    readonly stride: [number, number];
    readonly padding: [number, number];
  }
  const pair = (min: number, max: number) =>
    fc.tuple(fc.integer({ min, max }), fc.integer({ min, max }));
  const poolings: fc.Arbitrary<Pooling> = fc.record({
    planes: fc.integer({ min: 1, max: 4 }),
    size: pair(4, 16),
    kernel: pair(1, 3),
    stride: pair(1, 3),
    padding: fc.constantFrom<[number, number][]>([0, 0], [0, 0], [1, 1], [0, 1]),
  });

  // Padding of more than half the window could leave a window without an element.
  const valid = poolings.filter(({ kernel, padding }) =>
    padding.every((p, d) => p * 2 <= kernel[d]!),
  );

  function outSize({ size, kernel, stride, padding }: Pooling): [number, number] {
    const along = (d: 0 | 1) => Math.floor((size[d] + 2 * padding[d] - kernel[d]) / stride[d]) + 1;
    return [along(0), along(1)];
  }

  /** Value and place of the maximum of every window. */
  function reference(p: Pooling, x: Sample): { values: number[]; places: number[] } {
    const [height, width] = p.size;
    const [outHeight, outWidth] = outSize(p);
    const values: number[] = [];
    const places: number[] = [];
    for (let at = 0; at < p.planes * outHeight * outWidth; at++) {
      const plane = Math.floor(at / outHeight / outWidth);
      const top = (Math.floor(at / outWidth) % outHeight) * p.stride[0] - p.padding[0];
      const left = (at % outWidth) * p.stride[1] - p.padding[1];
      let best = -1;
      for (let h = Math.max(top, 0); h < Math.min(top + p.kernel[0], height); h++) {
        for (let w = Math.max(left, 0); w < Math.min(left + p.kernel[1], width); w++) {
          const value = (i: number) => x.values[plane * height * width + i]!;
          if (best < 0 || value(h * width + w) > value(best)) best = h * width + w;
        }
      }
      places.push(best);
      values.push(x.values[plane * height * width + best]!);
    }
    return { values, places };
  }

  it('finds values and places, and sends gradients back to them', () => {
    fc.assert(
      fc.property(valid, (p) => {
        const [outHeight, outWidth] = outSize(p);
        const { kernel, stride, padding } = p;
        // Rounded, so that equal maxima occur.
        const x = sample('float32', [1, p.planes, ...p.size], (i) => Math.round(noise(1)(i) * 3));
        const shape = [1, p.planes, outHeight, outWidth];
        const outputs = [
          { dtype: 'float32' as const, shape },
          { dtype: 'int32' as const, shape },
        ];
        const expected = reference(p, x);
        for (const kernelUnderTest of ['maxPool2d', pool.maxPool2d] as const) {
          const results = compute(kernelUnderTest, [x], outputs, {
            kernel,
            stride,
            padding,
            dilation: [1, 1],
          });
          expect(results).toEqual([expected.values, expected.places]);
        }
        const dy = sample('float32', shape, noise(2));
        const indices = sample('int32', shape, (i) => expected.places[i]!);
        const dx = new Array<number>(x.values.length).fill(0);
        expected.places.forEach((place, i) => {
          const plane = Math.floor(i / outHeight / outWidth);
          dx[plane * p.size[0] * p.size[1] + place]! += dy.values[i]!;
        });
        for (const kernelUnderTest of ['maxPool2dGrad', pool.maxPool2dGrad] as const) {
          const like = [{ dtype: 'float32' as const, shape: x.meta.shape }];
          const [actual] = compute(kernelUnderTest, [dy, indices, x], like);
          expect(error(actual!, dx)).toBeLessThan(1e-6);
        }
        release(x, dy, indices);
      }),
      { numRuns: 150 },
    );
  });

  it('has the places within the windows in 8 bits, and the same gradient from them', () => {
    const any = fc.record({
      planes: fc.integer({ min: 1, max: 3 }),
      size: pair(3, 30),
      kernel: pair(1, 5),
      stride: pair(1, 4),
      dilation: pair(1, 3),
      isPadded: fc.boolean(),
      hangs: pair(0, 1),
      dtype: fc.constantFrom('float32', 'float64'),
      salt: fc.nat(99),
    });
    let compared = 0;
    fc.assert(
      fc.property(
        any,
        ({ planes, size, kernel, stride, dilation, isPadded, hangs, dtype, salt }) => {
          const padding = kernel.map((k) => (isPadded ? Math.floor(k / 2) : 0));
          const counts = [0, 1].map((d) => {
            const rest = size[d]! + 2 * padding[d]! - dilation[d]! * (kernel[d]! - 1) - 1;
            const count = Math.floor(rest / stride[d]!) + 1 + hangs[d]!;
            const start = (count - 1) * stride[d]! - padding[d]!;
            return count < 1 || start >= size[d]! ? 0 : count;
          });
          const reach = (kernel[0] - 1) * dilation[0] * size[1] + (kernel[1] - 1) * dilation[1];
          // Dilated padding may leave a window without an element.
          const isEmpty = (d: number) => {
            const first = Math.ceil(padding[d]! / dilation[d]!) * dilation[d]! - padding[d]!;
            return first >= size[d]! || first > (kernel[d]! - 1) * dilation[d]! - padding[d]!;
          };
          if (counts.includes(0) || reach > 255 || [0, 1].some(isEmpty)) return;
          compared++;
          const value = (i: number) =>
            (i * 31 + salt) % 23 === 0 ? Number.NaN : (i * 7 + salt) % 11;
          const x = sample(dtype, [1, planes, ...size], value);
          const shape = [1, planes, ...counts];
          const attrs = { kernel, stride, padding, dilation };
          const poolings = (places: 'int32' | 'uint8') => [
            { dtype, shape },
            { dtype: places, shape },
          ];
          const [values, places] = compute(pool.maxPool2d, [x], poolings('int32'), attrs);
          const codes = places!.map((place, i) => {
            const [row, column] = [Math.floor(i / counts[1]!) % counts[0]!, i % counts[1]!];
            const start = row * stride[0] - padding[0]!;
            return place - start * size[1] - column * stride[1] + padding[1]!;
          });
          for (const name of ['maxPool2dCoded', pool.maxPool2dCoded] as const) {
            expect(compute(name, [x], poolings('uint8'), attrs)).toEqual([values, codes]);
          }
          const dy = sample(dtype, shape, noise(salt));
          const [inPlane, inWindow] = [
            sample('int32', shape, (i) => places![i]!),
            sample('uint8', shape, (i) => codes[i]!),
          ];
          const like = [{ dtype, shape: x.meta.shape }];
          const dx = compute('maxPool2dGrad', [dy, inPlane, x], like);
          for (const name of ['maxPool2dCodedGrad', pool.maxPool2dCodedGrad] as const) {
            expect(compute(name, [dy, inWindow, x], like, attrs)).toEqual(dx);
          }
          release(x, dy, inPlane, inWindow);
        },
      ),
      { numRuns: 120 },
    );
    expect(compared).toBeGreaterThan(30);
  });

  it('takes windows of any dilation, and equal parts, as the plain loops do, with NaN among them', () => {
    const sizes = fc.record({
      size: pair(5, 30),
      kernel: pair(1, 4),
      stride: pair(1, 3),
      dilation: pair(1, 2),
      outSize: pair(1, 12),
      salt: fc.nat(99),
    });
    fc.assert(
      fc.property(sizes, ({ size, kernel, stride, dilation, outSize: parts, salt }) => {
        const value = (i: number) =>
          (i * 31 + salt) % 23 === 0 ? Number.NaN : (i * 7 + salt) % 11;
        const x = sample('float32', [2, 2, ...size], value);
        const padding = kernel.map((k) => Math.floor(k / 2)) as [number, number];
        const along = (d: 0 | 1) =>
          Math.floor((size[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d]) +
          1;
        const both = (shape: number[], name: KernelName, plain: KernelFactory) => {
          if (shape.some((count) => count < 1)) return;
          const outputs = [
            { dtype: 'float32' as const, shape },
            { dtype: 'int32' as const, shape },
          ];
          const attrs = { kernel, stride, padding, dilation };
          const expected = compute(plain, [x], outputs, attrs);
          expect(compute(name, [x], outputs, attrs)).toEqual(expected);
        };
        both([2, 2, along(0), along(1)], 'maxPool2d', pool.maxPool2d);
        both([2, 2, ...parts], 'adaptiveMaxPool2d', pool.adaptiveMaxPool2d);
        release(x);
      }),
      { numRuns: 60 },
    );
  });

  it('lets NaN win', () => {
    const x = sample('float32', [1, 1, 4, 8], (i) => (i === 9 ? Number.NaN : i));
    const shape = [1, 1, 2, 4];
    const outputs = [
      { dtype: 'float32' as const, shape },
      { dtype: 'int32' as const, shape },
    ];
    const attrs = { kernel: [2, 2], stride: [2, 2], padding: [0, 0], dilation: [1, 1] };
    const [values, places] = compute('maxPool2d', [x], outputs, attrs);
    expect(values![0]).toBeNaN();
    expect(places).toEqual([9, 11, 13, 15, 25, 27, 29, 31]);
    release(x);
  });
});

describe('nllLoss', () => {
  it('is the mean of what the labels choose, and has its gradient', () => {
    const scores = sample('float32', [7, 4], (i) => -Math.abs(noise(1)(i)));
    const labels = sample('int32', [7], (i) => (i * 3) % 4);
    const chosen = labels.values.map((label, i) => -scores.values[i * 4 + label]!);
    const [loss] = compute('nllLoss', [scores, labels], [{ dtype: 'float32', shape: [] }]);
    expect(loss![0]).toBeCloseTo(total(chosen) / 7, 6);
    const dy = sample('float32', [], () => 2);
    const like = [{ dtype: 'float32' as const, shape: [7, 4] }];
    const [grad] = compute('nllLossGrad', [dy, labels, scores], like);
    const expected = scores.values.map((_, i) =>
      labels.values[Math.floor(i / 4)] === i % 4 ? -2 / 7 : 0,
    );
    expect(error(grad!, expected)).toBeLessThan(1e-6);
    release(scores, labels, dy);
  });

  it('refuses a label that is not a class', () => {
    const scores = sample('float32', [2, 4], () => -1);
    const labels = sample('int32', [2], (i) => i * 4);
    const run = () => compute('nllLoss', [scores, labels], [{ dtype: 'float32', shape: [] }]);
    expect(run).toThrow(ArgumentError);
    expect(run).toThrow(/label 4/);
    release(scores, labels);
  });
});
