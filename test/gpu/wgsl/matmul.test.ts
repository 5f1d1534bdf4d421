/** Products by tiles: every class of tiles, sizes that fill none, all layouts, against the CPU. */

import { describe, expect, it } from 'vitest';
import { tileFor } from '../../../runtime/device/gpu/wgsl/product-tiles.ts';
import { deviceGuard, matmul, randn, seed, type Tensor, tensor } from '../../../runtime/index.ts';
import '../../../runtime/tensor-methods/methods.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectParity } from '../parity.ts';

/** Rows, products per element, columns: the classes are chosen by rows and columns. */
const sizes: readonly (readonly [m: number, k: number, n: number])[] = [
  [1, 1, 1],
  [1, 40, 3],
  [3, 5, 7],
  [9, 16, 8],
  [20, 300, 40],
  [16, 17, 16],
  [5, 130, 33],
  [128, 31, 128],
  [33, 15, 513],
  [512, 3, 513],
  [520, 9, 1030],
  [2050, 8, 2040],
];

const transposed = (x: Tensor) => x.permute([1, 0]);

const layouts: Readonly<Record<string, (shape: readonly [number, number]) => Tensor>> = {
  rows: ([r, c]) => randn([r, c]),
  columns: ([r, c]) => transposed(randn([c, r])),
  'every second column': ([r, c]) => randn([r, c, 2]).select(2, 1),
};

describe.skipIf(skipGpu)('gpu/matmul', () => {
  const gpu = gpuForTests();

  function expectSame(product: () => Tensor): Promise<void> {
    const drawn = () => {
      seed(7);
      return product();
    };
    return expectParity(gpu(), drawn, { relative: 2e-5, absolute: 2e-5 });
  }

  it.each(sizes)('%i × %i × %i', async (m, k, n) => {
    await expectSame(() => matmul(randn([m, k]), randn([k, n])));
    await expectSame(() => matmul(transposed(randn([k, m])), transposed(randn([n, k]))));
  });

  it.each([
    [40, 64, 40],
    [64, 128, 512],
    [33, 95, 127],
  ] as const)('%i × %i × %i: threads share the products of a tile', async (m, k, n) => {
    expect(tileFor(m, k, n, null)).toMatchObject({ slices: 4 });
    await expectSame(() => matmul(randn([m, k]), randn([k, n])));
    await expectSame(() => matmul(transposed(randn([k, m])), transposed(randn([n, k]))));
    await expectSame(() => matmul(randn([3, m, k]), randn([k, n])));
  });

  it.each(Object.keys(layouts).flatMap((a) => Object.keys(layouts).map((b) => [a, b] as const)))(
    '%s by %s',
    async (a, b) => {
      await expectSame(() => matmul(layouts[a]!([11, 19]), layouts[b]!([19, 13])));
    },
  );

  it.each([
    [[5], [5]],
    [
      [2, 3, 4, 5],
      [5, 6],
    ],
    [
      [7, 4, 5],
      [7, 5, 6],
    ],
    [
      [2, 1, 4, 5],
      [3, 5, 6],
    ],
    [
      [40, 33, 5],
      [40, 5, 65],
    ],
    [
      [2, 3, 0],
      [2, 0, 4],
    ],
    [
      [0, 3, 2],
      [0, 2, 4],
    ],
  ])('batches: %j by %j', async (a, b) => {
    await expectSame(() => matmul(randn(a), randn(b)));
  });

  it('a NaN or an infinity reaches its own row and column alone', async () => {
    const values = [NaN, 1, 2, 3, Infinity, 5, 6, -Infinity, 8, 9];
    await expectSame(() => matmul(tensor(values).reshape([5, 2]), randn([2, 9])));
  });

  it('is one dispatch with the same bits each time, and a new size compiles nothing', async () => {
    const product = (m: number, k: number, n: number) =>
      deviceGuard(gpu(), () => {
        seed(3);
        return matmul(randn([m, k]), randn([k, n])).data();
      });
    const first = await product(70, 90, 80);
    const { compiled } = gpu().kernelStats;
    const { dispatches } = gpu().commandCounts;
    expect(await product(70, 90, 80)).toEqual(first);
    // Both operands are drawn on the GPU.
    expect(gpu().commandCounts.dispatches - dispatches).toBe(2 + 1);
    for (const [m, k, n] of [
      [71, 90, 80],
      [69, 9, 100],
      [200, 33, 90],
    ] as const) {
      await product(m, k, n);
    }
    expect(gpu().kernelStats.compiled).toBe(compiled);
  });
});
