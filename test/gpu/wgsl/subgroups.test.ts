/** Numbers that threads fold by reading one another's registers: the bits are those without subgroups. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { destroyGpu, initGpu } from '../../../runtime/device/gpu/init.ts';
import { foldThreads } from '../../../runtime/device/gpu/wgsl/thread-folds.ts';
import { WgslWriter } from '../../../runtime/device/gpu/wgsl/wgsl-writer.ts';
import {
  deviceGuard,
  layerNorm,
  noGrad,
  randn,
  scaledDotProductAttention,
  seed,
  type Tensor,
} from '../../../runtime/index.ts';
import { toStatic } from '../../../src/to-static.ts';
import { skipGpu, useSoftwareAdapter } from '../open-gpu.ts';
import { webGpuDevice } from './counted.ts';

/** The texts of kernels built by `body`, and what it computes. */
async function computed(subgroups: boolean, body: () => readonly Tensor[]) {
  const gpu = await initGpu({ subgroups });
  const webGpu = await webGpuDevice();
  const { createShaderModule } = webGpu;
  const texts: string[] = [];
  webGpu.createShaderModule = (descriptor) => {
    texts.push(descriptor.code);
    return createShaderModule.call(webGpu, descriptor);
  };
  try {
    seed(4);
    const results = deviceGuard(gpu, body);
    const data = await Promise.all(results.map((each) => each.data()));
    const inSubgroups = texts.filter((text) => text.startsWith('enable subgroups;')).length;
    return { data, inSubgroups, texts, lanes: gpu.lanes };
  } finally {
    webGpu.createShaderModule = createShaderModule;
    await destroyGpu();
  }
}

/** Results, and the gradients of a tensor by them. */
function withGradient(shape: readonly number[], op: (x: Tensor) => Tensor): () => Tensor[] {
  return () => {
    const x = randn(shape).requiresGrad_();
    const out = op(x);
    out.mul(randn(out.shape)).sum().backward();
    return [out.detach(), x.grad!];
  };
}

describe.skipIf(skipGpu)('gpu/wgsl/subgroups', () => {
  beforeAll(useSoftwareAdapter);
  beforeEach(destroyGpu);
  afterAll(destroyGpu);

  const norm = (length: number) => withGradient([9, length], (x) => layerNorm(x, [length]));
  const cases: Readonly<Record<string, () => readonly Tensor[]>> = {
    'sums of 33 to 5000': () =>
      [33, 70, 150, 300, 1500, 5000].map((length) => randn([300, length]).sum(1)),
    'largest elements': () => [40, 400].map((length) => randn([300, length]).amax(1)),
    integers: () => [randn([300, 90]).mul(1000).int().sum(1)],
    'softmax of 8 threads a row': withGradient([11, 40], (x) => x.softmax()),
    'softmax of 32 threads a row': withGradient([11, 200], (x) => x.softmax()),
    'softmax of 64 threads a row': withGradient([3, 1100], (x) => x.logSoftmax()),
    'norms of 8 threads': norm(40),
    'norms of 64 threads': norm(300),
  };

  it.each(Object.entries(cases))('%s', async (_name, body) => {
    const apart = await computed(false, body);
    const together = await computed(true, body);
    expect(together.data).toEqual(apart.data);
    expect([apart.lanes, apart.inSubgroups]).toEqual([1, 0]);
    // SwiftShader's subgroups are of 4.
    expect(together.lanes).toBeGreaterThanOrEqual(4);
    expect(together.inSubgroups).toBeGreaterThan(0);
  });

  it.each([
    [40, 60],
    [9, 150],
  ])('attention by tiles, %i queries and %i keys', async (queries, keys) => {
    const body = () => {
      const [q, k, v] = [queries, keys, keys].map((n) => randn([20, n, 16]));
      const attend = (a: Tensor, b: Tensor, c: Tensor) => scaledDotProductAttention(a, b, c);
      const tiled = toStatic(attend, { memory: { prefer: 'bytes' } });
      return [noGrad(() => tiled(q!, k!, v!)), attend(q!, k!, v!)];
    };
    const apart = await computed(false, body);
    const together = await computed(true, body);
    // Tiles have the order of the ops one by one.
    expect(together.data[0]).toEqual(together.data[1]);
    expect(together.data).toEqual(apart.data);
    const isTiled = (text: string) => text.includes('cells0');
    expect(together.texts.filter(isTiled)).not.toEqual([]);
    for (const text of together.texts.filter(isTiled)) expect(text).toContain('quadBroadcast');
  });
});

describe('wgsl of threads that fold a number', () => {
  const textOf = (lanes: number, slices: number) => {
    const bound = { bindings: [], written: [], writable: [], types: [], ownsWords: true, lanes };
    const w = new WgslWriter(64, bound);
    w.line('var x = f32(thread);');
    const step = (x: string, v: string) => `${x} + ${v}`;
    foldThreads(w, { name: 'x', type: 'f32', slices, threads: 64, partial: 'partial', step });
    return w.text().code;
  };

  it.each([
    ['no subgroups', 1, 32, { barriers: 1, quads: false, shuffles: 0 }],
    [
      'subgroups of fours, beyond by workgroup memory',
      4,
      32,
      { barriers: 1, quads: true, shuffles: 0 },
    ],
    ['a four alone', 4, 4, { barriers: 0, quads: true, shuffles: 0 }],
    ['all in one subgroup', 32, 32, { barriers: 0, quads: true, shuffles: 8 }],
    ['more than a subgroup', 32, 64, { barriers: 1, quads: true, shuffles: 0 }],
  ])('%s', (_name, lanes, slices, expected) => {
    const code = textOf(lanes, slices);
    const count = (part: RegExp) => [...code.matchAll(part)].length;
    expect({
      barriers: count(/workgroupBarrier/g),
      quads: code.includes('quadBroadcast'),
      shuffles: count(/subgroupShuffle/g),
    }).toEqual(expected);
    expect(code.startsWith('enable subgroups;')).toBe(expected.quads);
  });
});
