import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { heap } from '../../runtime/device/cpu/core/heap.ts';
import { linesCountAt, unpackedCountAt } from '../../runtime/device/cpu/core/scratch.ts';
import { matmul as scalarMatmul } from '../../runtime/device/cpu/scalar/matmul.ts';
import { tileColumns, tileRows } from '../../runtime/device/cpu/wasm/gemm-kernels.ts';
import { compute, error, layouts, noise, release, type Sample, sample } from './samples.ts';

/** float64; batch dimensions equal. */
function reference(a: Sample, b: Sample): number[] {
  const [m, k] = a.meta.shape.slice(-2) as [number, number];
  const n = b.meta.shape.at(-1)!;
  const batch = a.meta.shape.slice(0, -2).reduce((x, y) => x * y, 1);
  const out: number[] = [];
  for (let t = 0; t < batch; t++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let p = 0; p < k; p++) {
          sum += a.values[(t * m + i) * k + p]! * b.values[(t * k + p) * n + j]!;
        }
        out.push(sum);
      }
    }
  }
  return out;
}

function check(a: Sample, b: Sample): void {
  const shape = [...a.meta.shape.slice(0, -1), b.meta.shape.at(-1)!];
  const expected = reference(a, b);
  const outputs = [{ dtype: 'float32' as const, shape }];
  expect(error(compute('matmul', [a, b], outputs)[0]!, expected)).toBeLessThan(1e-5);
  expect(error(compute(scalarMatmul, [a, b], outputs)[0]!, expected)).toBeLessThan(1e-5);
}

/** How often products left b where it lies and factors were packed by cache lines, on this thread. */
const productCounts = () => ({
  unpacked: heap.i32[unpackedCountAt / 4]!,
  packedByLines: heap.i32[linesCountAt / 4]!,
});

describe('matmul', () => {
  it('multiplies any sizes and strides, batched', () => {
    const size = fc.integer({ min: 1, max: 21 });
    const cases = fc
      .record({
        batch: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }),
        m: size,
        n: size,
        k: size,
      })
      .chain(({ batch, m, n, k }) =>
        fc.record({
          a: fc.constant([...batch, m, k]),
          b: fc.constant([...batch, k, n]),
          aLayout: layouts([...batch, m, k]),
          bLayout: layouts([...batch, k, n]),
        }),
      );
    fc.assert(
      fc.property(cases, ({ a, b, aLayout, bLayout }) => {
        const left = sample('float32', a, noise(1), aLayout);
        const right = sample('float32', b, noise(2), bLayout);
        check(left, right);
        release(left, right);
      }),
      { numRuns: 120 },
    );
  });

  it('crosses the edges of its blocks', () => {
    for (const [m, k, n] of [
      [131, 259, 19],
      [5, 515, 521],
      [129, 3, 9],
    ] as const) {
      const a = sample('float32', [m, k], noise(3));
      const b = sample('float32', [k, n], noise(4));
      check(a, b);
      release(a, b);
    }
  });

  it('reads factors that broadcasting repeats', () => {
    const repeated = { strides: [0, 5, 1], offset: 0, span: 20 };
    const left = sample('float32', [3, 6, 4], noise(5));
    const right = sample('float32', [3, 4, 5], (i) => noise(6)(i % 20), repeated);
    check(left, right);
    const rows = { strides: [0, 4, 1], offset: 0, span: 24 };
    const left2 = sample('float32', [3, 6, 4], (i) => noise(7)(i % 24), rows);
    const right2 = sample('float32', [3, 4, 5], noise(8));
    check(left2, right2);
    release(left, right, left2, right2);
  });

  it('gives zeros for an empty sum', () => {
    const a = sample('float32', [3, 0], noise(1));
    const b = sample('float32', [0, 9], noise(1));
    const [out] = compute('matmul', [a, b], [{ dtype: 'float32', shape: [3, 9] }]);
    expect(out).toEqual(new Array(27).fill(0));
    release(a, b);
  });

  it('keeps NaN and infinity to their own row and column', () => {
    const a = sample('float32', [5, 5], (i) => (i === 7 ? Number.NaN : 1));
    const b = sample('float32', [5, 9], (i) => (i === 8 ? Number.POSITIVE_INFINITY : 1));
    const [out] = compute('matmul', [a, b], [{ dtype: 'float32', shape: [5, 9] }]);
    const expected = Array.from({ length: 45 }, (_, i) => {
      if (Math.floor(i / 9) === 1) return Number.NaN;
      return i % 9 === 8 ? Number.POSITIVE_INFINITY : 5;
    });
    expect(out).toEqual(expected);
    release(a, b);
  });

  it.each(['float64', 'int32'] as const)(
    'of %s has the bits of sums one by one, for any sizes and strides',
    (dtype) => {
      const size = fc.integer({ min: 0, max: 19 });
      const cases = fc
        .record({ batch: fc.integer({ min: 1, max: 3 }), m: size, n: size, k: size })
        .chain(({ batch, m, n, k }) =>
          fc.record({
            a: fc.constant([batch, m, k]),
            b: fc.constant([batch, k, n]),
            aLayout: layouts([batch, m, k]),
            bLayout: layouts([batch, k, n]),
          }),
        );
      // Products of such integers wrap.
      const scale = dtype === 'int32' ? 2 ** 28 : 1;
      const values = (seed: number) => (i: number) => noise(seed)(i) * scale;
      fc.assert(
        fc.property(cases, ({ a, b, aLayout, bLayout }) => {
          const left = sample(dtype, a, values(1), aLayout);
          const right = sample(dtype, b, values(2), bLayout);
          const outputs = [{ dtype, shape: [...a.slice(0, -1), b.at(-1)!] }];
          const [found] = compute('matmul', [left, right], outputs);
          expect(found).toEqual(compute(scalarMatmul, [left, right], outputs)[0]);
          release(left, right);
        }),
        { numRuns: 80 },
      );
    },
  );

  it('has the same bits for few rows, which read b where it lies, as among many, for which it is packed', () => {
    for (const k of [1, 7, 255, 256, 257, 600]) {
      for (const n of [8, 16, 21, 40, 520]) {
        const b = sample('float32', [k, n], noise(3));
        const all = sample('float32', [40, k], noise(4));
        const product = (m: number) => {
          const a = sample('float32', [m, k], (i) => all.values[i]!);
          const made = compute('matmul', [a, b], [{ dtype: 'float32', shape: [m, n] }])[0]!;
          release(a);
          return made;
        };
        const among = product(40);
        for (const m of [1, 2, 3, 4, 5, 8, 11, 16, 17]) {
          expect(product(m), `${m} × ${k} × ${n}`).toEqual(among.slice(0, m * n));
        }
        release(b, all);
      }
    }
  });

  /** How often a product of [m, k] and [k, n] did each, per transposed factors. */
  const counted = (m: number, k: number, n: number, transposed: 'none' | 'a' | 'b' = 'none') => {
    const across = (rows: number, columns: number, isTransposed: boolean) =>
      isTransposed
        ? { strides: [1, rows], offset: 0, span: rows * columns }
        : { strides: [columns, 1], offset: 0, span: rows * columns };
    const a = sample('float32', [m, k], noise(1), across(m, k, transposed === 'a'));
    const b = sample('float32', [k, n], noise(2), across(k, n, transposed === 'b'));
    const before = productCounts();
    const [made] = compute('matmul', [a, b], [{ dtype: 'float32', shape: [m, n] }]);
    const after = productCounts();
    expect(error(made!, reference(a, b))).toBeLessThan(1e-5);
    release(a, b);
    return [after.unpacked - before.unpacked, after.packedByLines - before.packedByLines];
  };

  it('leaves b where it lies for up to 16 rows and whole tiles of adjacent columns, once a block', () => {
    const width = tileColumns();
    for (const m of [2, 3, 7, 16]) {
      for (const k of [2, 256, 257]) {
        const blocks = Math.ceil(k / 256);
        expect(counted(m, k, 3 * width), `${m} rows, ${k}`).toEqual([blocks, 0]);
        expect(counted(m, k, 512 + width)).toEqual([2 * blocks, 0]);
      }
      expect(counted(m, 20, 3 * width + 1)[0]).toBe(0);
      expect(counted(m, 20, 3 * width, 'b')).toEqual([0, 0]);
    }
    expect(counted(17, 20, 3 * width)[0]).toBe(0);
    // One row has a kernel of its own.
    expect(counted(1, 20, 3 * width)).toEqual([0, 0]);
  });

  it('packs a factor whose lanes are adjacent by cache lines of 16', () => {
    for (const n of [16, 21, 40, 520]) {
      for (const k of [2, 256, 600]) {
        const lines = Math.floor(Math.min(n, 512) / 16) + Math.floor(Math.max(0, n - 512) / 16);
        expect(counted(17, k, n), `${n} columns, ${k}`).toEqual([0, Math.ceil(k / 256) * lines]);
        expect(counted(17, k, n, 'b')).toEqual([0, 0]);
      }
    }
    // Rows of a transposed first factor are adjacent, too; tiles of 6 don't fit into lines.
    const ofA = 16 % tileRows() === 0 ? Math.floor(40 / 16) : 0;
    expect(counted(40, 9, 15, 'a')).toEqual([0, ofA]);
  });
});
