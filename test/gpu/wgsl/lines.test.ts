/** Ops along a dimension, and means of windows: generated sizes against the CPU, eagerly and captured. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  adaptiveAvgPool2d,
  adaptiveMaxPool2d,
  avgPool2d,
  deviceGuard,
  interpolate,
  type Tensor,
  tensor,
  tidy,
} from '../../../runtime/index.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectSameEverywhere, numbers, whole } from './checked.ts';

/** By default one example; GENERATED_RUNS adds to it. */
const settings = {
  numRuns: Number(process.env.GENERATED_RUNS ?? 1),
  seed: Number(process.env.GENERATED_SEED ?? 1),
};

const close = { relative: 2e-5, absolute: 2e-5 };

describe.skipIf(skipGpu)('gpu/wgsl/lines', () => {
  const gpu = gpuForTests();

  it('running sums and products, and places of extremes', async () => {
    const run = async (length: number, outer: number, inner: number, salt: number) => {
      const shape = [outer, length, inner];
      const dim = salt % 3;
      const operands = (): [Tensor, Tensor] => [
        numbers(shape, salt).permute([2, 1, 0]),
        whole(shape, -4, 5, salt),
      ];
      await expectSameEverywhere(
        gpu(),
        operands,
        (x, few) => {
          const leaf = x.detach().requiresGrad_();
          leaf.cumsum(dim).mul(x).sum().backward();
          const factors = few.mul(0.01).add(1).requiresGrad_();
          const product = factors.cumprod(dim);
          product.mul(few).sum().backward();
          return [
            x.cumsum(dim),
            few.cumsum(dim),
            product.detach(),
            leaf.grad!,
            factors.grad!,
            x.argmax(dim),
            few.argmin(dim, true),
          ];
        },
        { relative: 1e-4, absolute: 1e-3 },
      );
    };
    const property = fc.asyncProperty(
      fc.constantFrom(1, 5, 63, 64, 200, 1100),
      fc.constantFrom(1, 2, 3),
      fc.constantFrom(1, 4),
      fc.nat({ max: 99 }),
      run,
    );
    await fc.assert(property, { ...settings, examples: [[200, 3, 4, 1]] });
  });

  it('the first of equal extremes, and NaN before all, in lines of many threads, too', async () => {
    for (const size of [12, 500, 3000]) {
      const values = new Float32Array(size);
      for (const [place, value] of [
        [4, -1],
        [5, 2],
        [size - 1, 2],
        [size - 2, -1],
      ] as const) {
        values[place] = value;
      }
      const found = async () => {
        const x = deviceGuard(gpu(), () => tensor(values));
        const places = tidy(() => [x.argmax(), x.argmin()]);
        return Promise.all(places.map((each) => each.item()));
      };
      expect(await found()).toEqual([5, 4]);
      values[size - 2] = NaN;
      expect(await found()).toEqual([size - 2, size - 2]);
    }
  });

  it('pooling of windows and of equal parts, forward and backward, is the GPU’s own', async () => {
    const before = gpu().computedOnCpu.size;
    const run = async (
      [height, width]: readonly [number, number],
      [kernel, stride, padding, divisor]: readonly [number, number, number, number],
      [rows, columns]: readonly [number, number],
      ceilMode: boolean,
    ) => {
      const shape = [2, 3, Math.max(height, kernel), Math.max(width, kernel)];
      const options = {
        stride,
        padding: Math.min(padding, kernel >> 1),
        ceilMode,
        countIncludePad: divisor > 0,
        divisorOverride: divisor > 1 ? divisor : null,
      };
      await expectSameEverywhere(
        gpu(),
        (): [Tensor] => [numbers(shape, kernel)],
        (x) => {
          const leaf = x.detach().requiresGrad_();
          const pooled = avgPool2d(leaf, kernel, options);
          const parts = adaptiveAvgPool2d(leaf, [rows, columns]);
          const area = interpolate(leaf, { size: [columns, rows], mode: 'area' });
          const found = adaptiveMaxPool2d(leaf, [rows, columns], { returnIndices: true });
          const [largest, places] = found as unknown as [Tensor, Tensor];
          for (const each of [pooled, parts, area, largest])
            each.mul(each.detach().add(1)).sum().backward();
          return [pooled, parts, area, largest].map((y) => y.detach()).concat(places, leaf.grad!);
        },
        close,
      );
    };
    const side = fc.integer({ min: 1, max: 13 });
    const window = fc.tuple(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 2 }),
      fc.constantFrom(0, 1, 5),
    );
    const property = fc.asyncProperty(
      fc.tuple(side, side),
      window,
      fc.tuple(side, side),
      fc.boolean(),
      run,
    );
    await fc.assert(property, { ...settings, examples: [[[7, 9], [3, 2, 1, 0], [3, 4], true]] });
    expect(gpu().computedOnCpu.size).toBe(before);
  });

  it('one dispatch each, and a new size of the class compiles nothing', async () => {
    const run = async (n: number, size: number) => {
      const x = deviceGuard(gpu(), () => numbers([n, 2, size, size], 1));
      const dispatches = async (op: () => Tensor) => {
        await gpu().synchronize();
        const before = gpu().commandCounts.dispatches;
        await op().data();
        return gpu().commandCounts.dispatches - before;
      };
      expect(await dispatches(() => x.cumsum(2))).toBe(1);
      expect(await dispatches(() => x.argmax(3))).toBe(1);
      expect(await dispatches(() => avgPool2d(x, 2))).toBe(2);
      expect(await dispatches(() => adaptiveAvgPool2d(x, 3))).toBe(2);
      x.dispose();
    };
    await run(2, 8);
    const { compiled } = gpu().kernelStats;
    await run(3, 11);
    await run(5, 30);
    expect(gpu().kernelStats.compiled - compiled).toBe(0);
  });
});
