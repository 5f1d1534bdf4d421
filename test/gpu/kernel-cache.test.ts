import { describe, expect, it } from 'vitest';
import { pointwisePlan } from '../../runtime/device/gpu/codegen/pointwise.ts';
import { wordsOf } from '../../runtime/device/gpu/core/element-storage.ts';
import { KernelCache } from '../../runtime/device/gpu/core/kernel-cache.ts';
import { PreparedKernel } from '../../runtime/device/gpu/prepared-kernel.ts';
import { GpuCore } from '../../runtime/device/gpu/webgpu/gpu-core.ts';
import { type CompiledKernel, GpuJsBackend } from '../../runtime/device/gpu/webgpu/gpujs.ts';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { tensor } from '../../runtime/ops/core/create.ts';
import { E } from '../../runtime/ops/expr/expr.ts';
import { gpuForTests, onDevice, skipGpu } from './open-gpu.ts';
import '../../runtime/tensor-methods/methods.ts';

describe('gpu/kernel-cache', () => {
  it('destroys the kernel whose last use is longest ago', () => {
    const destroyed: CompiledKernel[] = [];
    const made: CompiledKernel[] = [];
    const compile = () => made[made.push({} as CompiledKernel) - 1]!;
    const cache = new KernelCache(2, compile, (kernel) => destroyed.push(kernel));
    const text = { source: '', threads: 1, arrays: 0, scalars: 0, layout: null };
    const get = (key: string) => cache.get(key, { ...text, storeOffset: null, aliases: [] });
    const a = get('a');
    const b = get('b');
    expect(get('a')).toBe(a);
    get('c');
    expect(destroyed).toEqual([b]);
    expect(cache.compiled).toBe(3);
    cache.clear();
    expect(destroyed).toHaveLength(3);
  });
});

describe.skipIf(skipGpu)('gpu/kernel-cache on a device', () => {
  const gpu = gpuForTests();

  it('a prepared kernel outlives the destruction of what it compiled', async () => {
    const core = new GpuCore(await GpuJsBackend.open({ allowSoftware: true }), 2);
    const place = { buffer: core.pool.at(core.pool.alloc(64)), offset: 0 };
    const span = { buffer: place.buffer, first: 0, count: 16 };
    core.write(wordsOf(new Float32Array(16).fill(1)), span, true);
    const read = async () => [...new Float32Array((await core.read(span, 'data')).buffer)];
    const meta = contiguousMeta({ dtype: 'float32', shape: [16] }, gpu());
    const kernels = [1, 2, 3, 4].map((step) => {
      const plan = pointwisePlan(E.add(E.input(0), E.const(step)), [meta], meta, {});
      return new PreparedKernel(`add ${step}`, core, plan, [meta]);
    });
    // Each launch evicts the kernel before the last, some of them while they are built.
    for (let round = 0; round < 3; round++) {
      for (const kernel of kernels) kernel.run(() => place, {});
    }
    expect(await read()).toEqual(Array(16).fill(31));
    for (const kernel of kernels) kernel.run(() => place, {});
    expect(await read()).toEqual(Array(16).fill(41));
    expect(core.kernels.size).toBe(2);
  });

  it('an eager op seen before compiles nothing', async () => {
    const device = gpu();
    await onDevice(device, async () => {
      const [x, y] = [tensor([[1, 2, 3]]), tensor([[4], [5]])];
      const run = async () => {
        const z = x.add(y);
        const data = await z.data();
        z.dispose();
        return [...data];
      };
      const first = await run();
      const { compiled } = device.kernelStats;
      expect(await run()).toEqual(first);
      expect(device.kernelStats.compiled).toBe(compiled);
      x.dispose();
      y.dispose();
    });
  });
});
