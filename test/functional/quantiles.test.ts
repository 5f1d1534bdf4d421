/** Quantiles beside a sort and the definition of their place, over forms of `q`, dimensions and interpolations. */

import { describe, expect, it } from 'vitest';
import {
  grad,
  type Interpolation,
  memory,
  nanquantile,
  quantile,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { expectClose } from '../ops/eager.ts';

const interpolations = ['linear', 'lower', 'higher', 'midpoint', 'nearest'] as const;
const N = Number.NaN;
const rows = [
  [3, 1, 2, 9, -4],
  [0.5, -4, 7, 7.5, 1],
  [2, 8, -1, 0, 6],
  [5, 6, -3, 2, 4],
];
/** One row without numbers, one with some, two with all. */
const holed = [[N, N, N, N, N], [3, N, 2, 9, N], ...rows.slice(2)];

function at(place: number, ordered: readonly number[], interpolation: Interpolation): number {
  const [below, above] = [Math.floor(place), Math.ceil(place)];
  const [low, high] = [ordered[below]!, ordered[above]!];
  const nearest =
    place - below === 0.5 ? (below % 2 === 0 ? low : high) : ordered[Math.round(place)]!;
  const middle = (low + high) / 2;
  const linear = low + (high - low) * (place - below);
  return { linear, lower: low, higher: high, midpoint: middle, nearest }[interpolation];
}

function expected(
  row: readonly number[],
  q: number,
  interpolation: Interpolation,
  keepsNaN: boolean,
) {
  const own = row.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  if (own.length === 0 || (keepsNaN && own.length < row.length)) return N;
  return at(q * (own.length - 1), own, interpolation);
}

const columns = (given: readonly number[][]) =>
  given[0]!.map((_, i) => given.map((row) => row[i]!));
const linesOf = (given: readonly number[][], dim: number | null): readonly number[][] =>
  dim === null ? [given.flat()] : dim === 0 ? columns(given) : given;

const numbers = (x: Tensor): number[] => [...x.dataSync()] as number[];
const double = { dtype: 'float64' } as const;
// Halves of places among 4 and 5 elements, and shares of every kind.
const shares = [0, 1 / 6, 0.3, 0.375, 0.5, 0.625, 0.9, 1];
const shapeOf = (dim: number | null, keepDim: boolean): number[] => {
  if (dim === null) return keepDim ? [1, 1] : [];
  if (keepDim) return dim === 0 ? [1, 5] : [4, 1];
  return [dim === 0 ? 5 : 4];
};

describe.each([
  ['quantile', quantile, true],
  ['nanquantile', nanquantile, false],
] as const)('%s', (_name, fn, keepsNaN) => {
  it.each(interpolations)('%s is found between the neighbours of its place', (interpolation) => {
    for (const given of [rows, holed]) {
      const x = tensor(given, double);
      for (const dim of [null, 0, 1]) {
        for (const keepDim of [false, true]) {
          const lines = linesOf(given, dim);
          const wanted = shares.map((q) =>
            lines.map((line) => expected(line, q, interpolation, keepsNaN)),
          );
          const what = `${interpolation}, dim ${dim}, keepDim ${keepDim}`;
          const options = { keepDim, interpolation };
          tidy(() => {
            for (const [i, q] of shares.entries()) {
              for (const share of [q, tensor(q, double)]) {
                const one = fn(x, share, dim, options);
                expect(one.shape, what).toEqual(shapeOf(dim, keepDim));
                expectClose(numbers(one), wanted[i]!, what);
              }
            }
            for (const several of [shares, tensor(shares, double)]) {
              const all = fn(x, several, { dim, ...options });
              expect(all.shape, what).toEqual([shares.length, ...shapeOf(dim, keepDim)]);
              expectClose(numbers(all), wanted.flat(), what);
            }
          });
        }
      }
    }
  });

  it.each(interpolations)('%s has the gradients of differences', (interpolation) => {
    const given = tensor(keepsNaN ? rows : holed.slice(1), double);
    // No neighbour changes within the step.
    const q = tensor([0.2, 0.45, 0.8], double);
    const factors = tensor([1, -2, 3], double).reshape([3, 1]);
    const value = (x: Tensor, at: Tensor) =>
      fn(x, at, 1, { interpolation }).nanToNum().mul(factors).sum();
    const [x, at] = [given.clone().requiresGrad_(), q.clone().requiresGrad_()];
    const found = grad(value(x, at), [x, at], { allowUnused: true }).map((each) =>
      each === null ? null : numbers(each),
    );
    for (const [which, own] of [given, q].entries()) {
      numbers(own).forEach((number, i) => {
        if (Number.isNaN(number)) return;
        const moved = (by: number) => {
          const other = tensor(
            numbers(own).map((each, k) => (k === i ? each + by : each)),
            double,
          ).reshape(own.shape);
          return (which === 0 ? value(other, q) : value(given, other)).itemSync();
        };
        const slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        expect(found[which]?.[i] ?? 0, `${which}, ${i}`).toBeCloseTo(slope, 6);
      });
    }
  });

  it('is one program with the bits of eager execution, and gives back all bytes', () => {
    const step = (x: Tensor, q: Tensor) => {
      const results = interpolations.flatMap((interpolation) => [
        fn(x, 0.3, 1, { interpolation }),
        fn(x, [0.25, 0.5], { dim: 0, interpolation }),
        fn(x, q, { keepDim: true, interpolation }),
      ]);
      const total = results.map((each) => each.nanToNum().sum()).reduce((a, b) => a.add(b));
      return [...results, ...grad(total, [x, q])];
    };
    const captured = toStatic(step, { fullGraph: true, check: 1 });
    const before = memory.stats('cpu').allocated;
    tidy(() => {
      for (const given of [rows, holed]) {
        const inputs = () =>
          [tensor(given).requiresGrad_(), tensor([0.1, 0.7]).requiresGrad_()] as const;
        const [found, wanted] = [captured(...inputs()), step(...inputs())];
        expect(found.map((each) => [each.shape, numbers(each)])).toEqual(
          wanted.map((each) => [each.shape, numbers(each)]),
        );
      }
    });
    expect(memory.stats('cpu').allocated).toBe(before);
    expect(captured.stats()).toMatchObject({ graphs: 1, fallbacks: [] });
  });

  it('keeps infinite elements, half precision and places at whole numbers', () => {
    expect(numbers(fn(tensor([-Infinity, 1, Infinity]), [0, 0.5, 1]))).toEqual([
      -Infinity,
      1,
      Infinity,
    ]);
    expect(fn(tensor([1, 2, 4]).to('float16'), 0.75).dtype).toBe('float16');
    expect(fn(tensor([1, 2, 4], { dtype: 'int32' }), 0.75).tolist()).toBe(3);
    // 0.29 · 100 is 28.999999999999996; PyTorch computes in float32 here.
    const places = tensor(Float32Array.from({ length: 101 }, (_, i) => i));
    expect(fn(places, 0.29, null, { interpolation: 'lower' }).tolist()).toBe(29);
    expect(fn(places, tensor(0.29), null, { interpolation: 'lower' }).tolist()).toBe(29);
  });

  it('refuses shares outside, no shares, and more than a list of them', () => {
    const x = tensor([1, 2, 3]);
    for (const q of [1.5, -0.1, N, [0.5, 2], [], 'half', [0.5, null], tensor([[0.5]])]) {
      expect(() => fn(x, q as number)).toThrow(/quantile: q has a wrong value/);
    }
    for (const q of [tensor([0.5, 1.5]), tensor(-0.6)]) {
      expect(() => fn(x, q)).toThrow(/index is out of range/);
    }
    expect(() => fn(x, 0.5, 0, { interpolation: 'cubic' } as never)).toThrow(/'linear', 'lower'/);
    expect(() => fn(x, 0.5, { keepdim: true } as never)).toThrow(/quantile: no such option/);
    expect(() => fn(x, 0.5, 0, 1 as never)).toThrow(/quantile: keepDim has a wrong value/);
  });
});
