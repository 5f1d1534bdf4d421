/** Sorts in WebAssembly beside those in JavaScript: the same bits and positions. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpu } from '../../../runtime/device/cpu/cpu-device.ts';
import * as wasm from '../../../runtime/device/cpu/order.ts';
import * as javascript from '../../../runtime/device/cpu/scalar/order.ts';
import { longestSorted } from '../../../runtime/device/cpu/wasm/order/row-sorter.ts';
import { Holder } from '../../../runtime/device/holder.ts';
import type { KernelFactory } from '../../../runtime/device/kernel-op.ts';
import { contiguousMeta } from '../../../runtime/device/tensor-meta.ts';
import { type DType, dtypes, newTypedArray, type TypedArray } from '../../../runtime/spec/dtype.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import { memory, type Tensor, tidy, toStatic, zeros } from '../../../src/index.ts';

const sorted = ['float32', 'float64', 'int32', 'uint8', 'bool'] as const satisfies DType[];

interface Case {
  readonly dtype: (typeof sorted)[number];
  readonly outer: number;
  readonly size: number;
  readonly inner: number;
  readonly count: number;
  readonly descending: boolean;
  readonly kind: 'bits' | 'ties' | 'rising' | 'near';
  readonly seed: number;
}

const specials = [0, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1, -1];

function valuesOf({ dtype, outer, size, inner, kind, seed }: Case): TypedArray {
  const values = newTypedArray(dtype, outer * size * inner);
  const bytes = new Uint8Array(values.buffer);
  let state = seed | 1;
  const next = (): number => {
    state = Math.imul(state, 1664525) + 1013904223;
    return state >>> 8;
  };
  const isFloat = dtypes[dtype].floating;
  if (kind === 'bits') for (let i = 0; i < bytes.length; i++) bytes[i] = next();
  for (let i = 0; i < values.length; i++) {
    if (kind === 'ties') values[i] = isFloat ? specials[next() % 7]! : next() % 5;
    if (kind === 'rising') values[i] = Math.floor(i / 3);
    if (kind === 'near') values[i] = isFloat ? 1 + (next() % 1000) * 2 ** -23 : next() % 200;
    if (dtype === 'bool') values[i]! &= 1;
    // Moving a signaling NaN makes it a quiet one in JavaScript alone.
    else values[i] = values[i]!;
  }
  return values;
}

/** The bits of the values, and the positions. */
function run(kernel: KernelFactory, given: Case): [Uint8Array, Int32Array] {
  const { dtype, outer, size, inner, count, descending } = given;
  const x = contiguousMeta({ dtype, shape: [outer, size, inner] }, cpu);
  const outputs = ([dtype, 'int32'] as const).map((each) =>
    contiguousMeta({ dtype: each, shape: [outer, count, inner] }, cpu),
  );
  const metas = [x, ...outputs];
  const operands = metas.map((meta) => ({
    holder: new Holder(cpu, sizeOf(meta.shape) * dtypes[meta.dtype].bytes),
    offset: 0,
  }));
  cpu.upload(valuesOf(given), x, operands[0]!);
  kernel([x], outputs, { dim: 1, count, descending })([operands[0]!], operands.slice(1));
  const [values, indices] = outputs.map((meta, i) => cpu.downloadSync(meta, operands[i + 1]!));
  for (const { holder } of operands) holder.release();
  return [new Uint8Array(values!.buffer), indices as Int32Array];
}

function expectSame(given: Case): void {
  const [own, expected] = [run(wasm.sort, given), run(javascript.sort, given)];
  expect(Buffer.compare(own[0], expected[0]), 'the bits of the values').toBe(0);
  expect(Buffer.compare(Buffer.from(own[1].buffer), Buffer.from(expected[1].buffer))).toBe(0);
}

describe('sorts in WebAssembly and in JavaScript agree', () => {
  it('over dtypes, sizes, strides, counts, ties and special values', () => {
    const sizes = fc.oneof(
      fc.integer({ min: 0, max: 70 }),
      fc.integer({ min: 60, max: 600 }),
      fc.integer({ min: 600, max: 5000 }),
    );
    const part = fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true }));
    const cases = fc
      .record({
        dtype: fc.constantFrom(...sorted),
        outer: fc.integer({ min: 1, max: 3 }),
        size: sizes,
        inner: fc.constantFrom(1, 1, 2, 5),
        descending: fc.boolean(),
        kind: fc.constantFrom('bits', 'ties', 'rising', 'near'),
        seed: fc.integer(),
        part,
        few: fc.nat(40),
      })
      .map(({ part, few, ...own }) => ({
        ...own,
        count: Math.min(own.size, few % 2 ? few : Math.round(own.size * part)),
      }));
    fc.assert(fc.property(cases, expectSame), { numRuns: 250 });
  });

  it('at the sizes where the method changes', () => {
    for (const dtype of sorted) {
      for (const size of [1, 3, 4, 5, 63, 64, 65, 127, 128, 129, 8191, 8192]) {
        for (const count of [size, Math.min(size, 31), Math.min(size, 32)]) {
          const rest = { outer: 1, inner: 1, descending: size % 2 > 0, seed: size } as const;
          expectSame({ dtype, size, count, ...rest, kind: 'bits' });
        }
      }
    }
  });

  it('for rows that just fit the scratch memory of a thread, and longer ones in memory of their own', () => {
    const rest = { outer: 1, descending: false, seed: 5, kind: 'bits' } as const;
    const [short, long] = [longestSorted('uint8'), longestSorted('float32') + 1];
    expectSame({ dtype: 'uint8', size: short, inner: 1, count: short, ...rest });
    expectSame({ dtype: 'float32', size: long, inner: 2, count: 40, ...rest });
  });
});

it.each(['float32', 'float16', 'uint8'] as const)(
  'the peak is predicted: %s rows that do not fit the scratch memory have lists in memory of their own',
  (dtype) => {
    const longest = longestSorted(dtype === 'float16' ? 'float32' : dtype);
    const peaks = [longest, longest + 1].map((size) =>
      tidy(() => {
        const x = zeros([size, 2], { dtype });
        const sorting = toStatic((own: Tensor) => own.sort(0)[1]);
        sorting(x);
        memory.reset();
        const start = memory.stats().allocated;
        sorting(x);
        const { peakBytes } = sorting.programs()[0]!.stages!.planned.forward.predicted;
        expect(memory.stats().peakAllocated - start).toBe(peakBytes);
        return peakBytes;
      }),
    );
    expect(peaks[1]! - peaks[0]!).toBeGreaterThan(longest * 12);
  },
);
