/** Attention by tiles computes the products of few tiles of columns once, and those of many for each step. */

import { beforeAll, describe, expect, it } from 'vitest';
import { heldTiles } from '../../../runtime/device/gpu/wgsl/attention/held-products.ts';
import {
  deviceGuard,
  noGrad,
  randn,
  scaledDotProductAttention,
  seed,
  type Tensor,
} from '../../../runtime/index.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectSameKernels } from '../parity.ts';
import { webGpuDevice } from './counted.ts';

it.each([
  [20, 1, 0],
  [33, 1, 2],
  [64, 2, 2],
  [65, 1, 4],
  [128, 1, 4],
  [129, 1, 0],
  [65, 2, 0],
])('%i columns and %i products: %i tiles', (columns, products, tiles) => {
  expect(heldTiles(columns, products)).toBe(tiles);
});

describe.skipIf(skipGpu)('gpu/wgsl/held products', () => {
  const gpu = gpuForTests();
  let webGpu: GPUDevice;
  beforeAll(async () => {
    if (!skipGpu) webGpu = await webGpuDevice();
  });

  it.each([
    [50, true],
    [101, true],
    [140, false],
  ])('%i keys', async (keys, areHeld) => {
    seed(2);
    const [q, k, v] = deviceGuard(gpu(), () =>
      // Widths that no other test has: the kernel is built here.
      [36, keys, keys].map((length) => randn([17, length, 11])),
    );
    const attend = (a: Tensor, b: Tensor, c: Tensor) =>
      scaledDotProductAttention(a, b, c, { scale: 0.31 });
    const tiled = toStatic(attend, { memory: { prefer: 'bytes' } });
    const { createShaderModule } = webGpu;
    const texts: string[] = [];
    webGpu.createShaderModule = (descriptor) => {
      texts.push(descriptor.code);
      return createShaderModule.call(webGpu, descriptor);
    };
    try {
      const results = noGrad(() => [tiled(q!, k!, v!), attend(q!, k!, v!)]);
      const [actual, expected] = await Promise.all(results.map((each) => each.data()));
      // Of more than 128 keys, tiles of the ops one by one share sums otherwise.
      if (areHeld) {
        expectSameKernels(gpu(), [actual as Float32Array], [expected as Float32Array]);
      }
    } finally {
      webGpu.createShaderModule = createShaderModule;
    }
    const kernels = texts.filter((text) => text.includes('cells0'));
    for (const text of kernels) {
      const inSteps = text.slice(text.indexOf('for (var step = 0u;'));
      expect(inSteps.includes('d = d + 16u')).toBe(!areHeld);
      expect(text.includes('d = d + 16u')).toBe(true);
    }

    expect(kernels).toHaveLength(1);
  });
});
