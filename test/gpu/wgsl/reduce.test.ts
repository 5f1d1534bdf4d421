/** Reductions by workgroups: all numbers of threads per output, all layouts, against the CPU. */

import { describe, expect, it } from 'vitest';
import {
  amax,
  amin,
  deviceGuard,
  prod,
  randn,
  seed,
  sum,
  type Tensor,
  tensor,
  zeros,
} from '../../../runtime/index.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectParity } from '../parity.ts';

const shapes: readonly (readonly [shape: readonly number[], dim: number])[] = [
  [[5, 3], 1],
  [[5, 16], 1],
  [[70, 33], 0],
  [[3, 257, 4], 1],
  [[2, 1025], 1],
  [[1025, 2], 0],
  [[5000, 3], 0],
  [[3, 9001], 1],
  [[4500, 9], 1],
  [[1, 1], 0],
  [[4, 0], 1],
  [[0, 4], 1],
];

describe.skipIf(skipGpu)('gpu/wgsl/reduce', () => {
  const gpu = gpuForTests();
  const same = (body: () => Tensor) =>
    expectParity(
      gpu(),
      () => {
        seed(2);
        return body();
      },
      { relative: 1e-4, absolute: 1e-4 },
    );

  it.each(shapes)('%j over %i', async (shape, dim) => {
    await same(() => randn(shape).sum(dim));
    const turned = [...shape].reverse();
    const order = turned.map((_, d) => shape.length - 1 - d);
    await same(() => randn(turned).permute(order).sum(dim));
    if (shape[dim]! > 0) {
      await same(() => randn(shape).amax(dim));
      await same(() => randn(shape).amin(dim));
    }
  });

  it.each([[[0, 2]], [[1]], [[0, 1, 2]]])('several dimensions: %j', async (dims) => {
    await same(() => randn([6, 70, 5]).sum(dims));
    await same(() => randn([6, 70, 5, 2]).select(3, 1).sum(dims));
  });

  it('a long sum in two stages, of elements that are a view', async () => {
    await same(() => randn([20_000]).sum());
    await same(() => randn([9000, 2]).select(1, 1).sum());
  });

  it.each(Object.entries({ amax, amin, sum, prod }))(
    '%s: NaN and infinities',
    async (_, reduce) => {
      const row = (at: number, value: number) => {
        const values = Array.from({ length: 100 }, (_, i) => Math.sin(i));
        values[at] = value;
        return values;
      };
      const rows = [row(3, NaN), row(99, Infinity), row(64, -Infinity), row(0, NaN), row(50, 0)];
      await same(() => reduce(tensor(rows), 1));
    },
  );

  it('bits are the same in every run and layout, and a new size compiles nothing', async () => {
    const sum = (rows: number, columns: number) =>
      deviceGuard(gpu(), () => {
        seed(5);
        return randn([rows, columns]).sum(0).data();
      });
    const first = await sum(100, 30);
    expect(await sum(100, 30)).toEqual(first);
    const turned = await deviceGuard(gpu(), () => {
      seed(5);
      const x = zeros([30, 100]).permute([1, 0]);
      x.copy_(randn([100, 30]));
      return x.sum(0).data();
    });
    expect(turned).toEqual(first);
    const { compiled } = gpu().kernelStats;
    await sum(90, 40);
    await sum(120, 7);
    expect(gpu().kernelStats.compiled).toBe(compiled);
  });
});
