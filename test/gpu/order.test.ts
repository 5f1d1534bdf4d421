import { describe, expect, it } from 'vitest';
import { deviceGuard } from '../../runtime/device/current.ts';
import { StageWriter } from '../../runtime/device/gpu/codegen/stage-writer.ts';
import type { Place } from '../../runtime/device/gpu/core/device-core.ts';
import { wordsOf } from '../../runtime/device/gpu/core/element-storage.ts';
import { input, output, singleStage } from '../../runtime/device/gpu/core/kernel-plan.ts';
import type { StoreLayout } from '../../runtime/device/gpu/core/kernel-text.ts';
import { PreparedKernel } from '../../runtime/device/gpu/prepared-kernel.ts';
import { GpuCore } from '../../runtime/device/gpu/webgpu/gpu-core.ts';
import { GpuJsBackend } from '../../runtime/device/gpu/webgpu/gpujs.ts';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { DeviceError } from '../../runtime/errors/errors.ts';
import { tensor } from '../../runtime/ops/core/create.ts';
import { gpuForTests, onDevice, skipGpu } from './open-gpu.ts';
import '../../runtime/tensor-methods/methods.ts';

describe.skipIf(skipGpu)('gpu/order', () => {
  const gpu = gpuForTests();

  it('a read sees exactly what was issued before it, builds pending or not', async () => {
    for (const round of ['first builds', 'all built']) {
      await onDevice(gpu(), async () => {
        const x = tensor([1, 2, 3, 4, 5]);
        const reads = [x.data()];
        x.add_(1);
        reads.push(x.data());
        x.mul_(10);
        reads.push(x.data());
        x.dispose();
        // Takes over x's buffer while the reads are under way.
        const y = tensor([9, 9, 9, 9, 9]);
        reads.push(y.data());
        y.dispose();
        const values = (await Promise.all(reads)).map((data) => [...data]);
        expect(values, round).toEqual([
          [1, 2, 3, 4, 5],
          [2, 3, 4, 5, 6],
          [20, 30, 40, 50, 60],
          [9, 9, 9, 9, 9],
        ]);
      });
    }
  });

  it('data may be changed as soon as tensor() has returned', async () => {
    await onDevice(gpu(), async () => {
      const x = tensor([1, 2, 3]);
      // A kernel of a new shape: uploads behind it wait for its build.
      const waiting = x.sub(0.125);
      const data = new Float32Array([4, 5, 6]);
      const y = tensor(data);
      data.fill(0);
      expect([...(await y.data())]).toEqual([4, 5, 6]);
      for (const t of [x, waiting, y]) t.dispose();
    });
  });

  it('dataSync names the remedy', () => {
    const x = deviceGuard(gpu(), () => tensor([1]));
    expect(() => x.dataSync()).toThrow(DeviceError);
    expect(() => x.itemSync()).toThrow(/await x\.item\(\)/);
    x.dispose();
  });

  it('a kernel that can not be built fails what reads its result, and nothing else', async () => {
    const backend = await GpuJsBackend.open({ allowSoftware: true });
    const core = new GpuCore(backend, 8);
    const [x, y] = [core.pool.alloc(64), core.pool.alloc(64)];
    const places = {
      x: { buffer: core.pool.at(x), offset: 0 },
      y: { buffer: core.pool.at(y), offset: 0 },
    };
    const spanOf = ({ buffer }: Place) => ({ buffer, first: 0, count: 16 });
    const read = async (place: Place) => {
      const words = await core.read(spanOf(place), 'data');
      return [...new Float32Array(words.buffer)];
    };
    core.write(wordsOf(new Float32Array(16).fill(3)), spanOf(places.x), true);
    const meta = contiguousMeta({ dtype: 'float32', shape: [16] }, gpu());
    const kernel = (name: string, layout: StoreLayout | null) => {
      const w = new StageWriter();
      const stage = w.into(output(0), meta, w.array(input(0)).at('i'));
      return new PreparedKernel(name, core, singleStage({ ...stage, layout }), [meta]);
    };
    const places2 = { input: places.x, output: places.y, scratch: places.x };
    kernel('broken', { loops: [], base: Number.NaN }).run((slot) => places2[slot.kind], {});
    const chained = { input: places.y, output: places.y, scratch: places.x };
    kernel('after', null).run((slot) => chained[slot.kind], {});
    await expect(read(places.y)).rejects.toThrow(/broken: its GPU kernel could not be built/);
    expect(await read(places.x)).toEqual(Array(16).fill(3));
    // Whole new contents are worth reading again, and so is the buffer's next life.
    kernel('copy', null).run((slot) => places2[slot.kind], {});
    expect(await read(places.y)).toEqual(Array(16).fill(3));
  });

  it('what WebGPU reports by itself is told at the next read', async () => {
    const backend = await GpuJsBackend.open({ allowSoftware: true });
    const core = new GpuCore(backend, 8);
    const buffer = core.pool.at(core.pool.alloc(64));
    const whole = { buffer, first: 0, count: 16 };
    core.copy({ ...whole, first: 12 }, { buffer, first: 8 });
    await expect(core.read(whole, 'data')).rejects.toThrow(DeviceError);
    await expect(core.read(whole, 'data')).resolves.toHaveLength(16);
  });

  it('a kernel of another backend is refused', async () => {
    const backend = await GpuJsBackend.open({ allowSoftware: true });
    const { GPU } = (await import('gpu.js')).default as unknown as {
      GPU: { prototype: { createKernel: unknown } };
    };
    const original = GPU.prototype.createKernel;
    class CpuKernel {}
    GPU.prototype.createKernel = () => ({ kernel: new CpuKernel() });
    try {
      const text = { source: '', threads: 1, arrays: 0, scalars: 0 };
      expect(() =>
        backend.compile({ ...text, layout: null, storeOffset: null, aliases: [] }),
      ).toThrow(/CpuKernel instead of a WebGPU kernel/);
    } finally {
      GPU.prototype.createKernel = original;
    }
  });
});
