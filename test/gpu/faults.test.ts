/** A GPU without memory left, one that goes away, and what its errors say to do. */

import { afterEach, describe, expect, it } from 'vitest';
import * as tostatic from '../../src/index.ts';
import {
  type Device,
  DeviceError,
  deviceGuard,
  init,
  nn,
  OutOfMemoryError,
  ones,
  setDevice,
  shutdown,
  type Tensor,
  tensor,
  tidy,
} from '../../src/index.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';

/** The device below gpu.js, to take things away from it. */
async function webGpuDevice(): Promise<GPUDevice> {
  const loaded = (await import('gpu.js')) as unknown as {
    default?: GpuJs;
  } & GpuJs;
  return (await (loaded.default ?? loaded).WebGPUContext.acquire()).device;
}

interface GpuJs {
  readonly WebGPUContext: { acquire(): Promise<{ readonly device: GPUDevice }> };
}

/** Inside `body`, the next buffers of the size are none: larger than any device has memory for. */
async function withoutMemory<T>(bytes: number, body: () => T | Promise<T>): Promise<T> {
  const device = await webGpuDevice();
  const { createBuffer } = device;
  device.createBuffer = (descriptor) =>
    createBuffer.call(
      device,
      descriptor.size === bytes ? { ...descriptor, size: 2 ** 52 } : descriptor,
    );
  try {
    return await body();
  } finally {
    device.createBuffer = createBuffer;
  }
}

describe.skipIf(skipGpu)('gpu/faults', () => {
  const gpu = gpuForTests();
  afterEach(() => setDevice('cpu'));
  const values = (x: Tensor) => x.data().then((data) => [...data]);

  describe('a buffer that WebGPU could not make', () => {
    it('is an error of what was in it, and of nothing after it', async () => {
      const device = gpu();
      const elements = 12_000;
      const bytes = 4 * elements;
      device.emptyCache();
      const { counter } = device.allocator;
      const [allocated, reserved] = [counter.allocated, counter.reserved];
      await withoutMemory(Math.ceil(bytes / 64) * 64, async () => {
        const x = deviceGuard(device, () => ones([elements]));
        const y = deviceGuard(device, () => x.mul(2).sum());
        await expect(x.data()).rejects.toThrow(OutOfMemoryError);
        await expect(y.data()).rejects.toThrow(/out of memory|the GPU failed/);
        x.dispose();
        y.dispose();
      });
      await device.synchronize();
      await settled(device);
      // The next tensors of the size have memory, and hold what is written.
      for (let i = 0; i < 3; i++) {
        const x = deviceGuard(device, () => ones([elements]).mul(3));
        expect((await values(x)).slice(0, 2)).toEqual([3, 3]);
        x.dispose();
      }
      device.emptyCache();
      expect(counter.allocated).toBeLessThanOrEqual(allocated + 4 * bytes);
      expect(counter.reserved).toBeLessThanOrEqual(reserved + 4 * bytes + 4096);
    });

    it.each([
      ['op by op', 'addScalar'],
      ['captured', 'fused(matmul·addScalar)'],
    ])('names the op and the line, %s', async (how, op) => {
      const device = gpu();
      const [rows, columns] = [77, 93];
      const x = deviceGuard(device, () => ones([rows, 5]));
      const y = deviceGuard(device, () => ones([5, columns]));
      const body = (a: Tensor, b: Tensor) => a.matmul(b).add(1).sum();
      const line = new Error().stack!.split('\n')[1]!.match(/:(\d+):\d+\)?$/)![1]!;
      const fn = how === 'captured' ? tostatic.toStatic(body) : body;
      const run = () => tostatic.noGrad(() => fn(x, y));
      expect(await run().item()).toBe(6 * rows * columns);
      device.emptyCache();
      const size = Math.ceil((4 * rows * columns) / 64) * 64;
      const failed = await withoutMemory(size, () =>
        run()
          .data()
          .catch((error: Error) => error),
      );
      expect(failed).toBeInstanceOf(OutOfMemoryError);
      const { message, at } = failed as OutOfMemoryError;
      expect(message.split('\n')[0]).toBe(`${op}: out of memory on the GPU`);
      expect(message).toContain(`${size} bytes`);
      expect(message).not.toContain('[object');
      expect(at).toMatchObject({ file: expect.stringMatching(/faults\.test\.[jt]s$/) });
      expect(at!.line).toBe(Number(line) - 1);
    });

    it('leaves what was computed in the same task as it was', async () => {
      const device = gpu();
      const elements = 23_456;
      const a = deviceGuard(device, () => ones([5]));
      await device.synchronize();
      const compute = () => {
        const before = deviceGuard(device, () => a.add(1));
        const missing = deviceGuard(device, () => ones([elements]).mul(2));
        const after = deviceGuard(device, () => a.add(2).add_(before));
        return { before, missing, after };
      };
      // Kernels are built here: waiting for a build would separate the submits.
      tidy(() => void compute());
      await device.synchronize();
      device.emptyCache();
      const results = await withoutMemory(Math.ceil((4 * elements) / 64) * 64, compute);
      await expect(results.missing.data()).rejects.toThrow(/out of memory|the GPU failed/);
      await settled(device);
      expect(await values(results.before)).toEqual([2, 2, 2, 2, 2]);
      expect(await values(results.after)).toEqual([5, 5, 5, 5, 5]);
    });

    // Some of 4 · 51 bytes, which is no multiple of an allocation's 64.
    it.each<[string, (missing: Tensor, there: Tensor) => Tensor]>([
      ['a result', (missing) => missing.sum(0)],
      ['a result of a result', (missing) => missing.sum(0).mul(2).sum()],
      ['what it was written to in place', (missing, there) => there.add_(missing.sum(0))],
      [
        'a part of what it was written to',
        (missing, there) => there.narrow(0, 3, 9).add_(missing.sum()),
      ],
    ])('%s in buffers that exist is an error, until it is replaced', async (_name, use) => {
      const device = gpu();
      const compute = () =>
        deviceGuard(device, () => {
          const there = ones([51]);
          const missing = ones([51, 51]).mul(2);
          const result = use(missing, there);
          missing.dispose();
          return { there, result };
        });
      // Kernels and all buffers but the large ones are there: nothing waits.
      for (let i = 0; i < 2; i++) {
        const { there, result } = compute();
        await Promise.all([there.data(), result.data()]);
        for (const each of new Set([there, result])) each.dispose();
      }
      await settled(device);
      const large = Math.ceil((4 * 51 * 51) / 64) * 64;
      const { there, result } = await withoutMemory(large, async () => {
        const held = deviceGuard(device, () => Array.from({ length: 8 }, () => ones([51, 51])));
        try {
          return compute();
        } finally {
          for (const each of held) each.dispose();
        }
      });
      await expect(result.data()).rejects.toThrow(OutOfMemoryError);
      await settled(device);
      const isShared = result.holder === there.holder;
      if (isShared) await expect(there.data()).rejects.toThrow(OutOfMemoryError);
      else expect((await values(there))[0]).toBe(1);
      deviceGuard(device, () => there.copy_(ones([51]).mul(3)));
      expect(await values(there)).toEqual(Array(51).fill(3));
    });

    it('that is idle when WebGPU says so has no next owner', async () => {
      const device = gpu();
      const elements = 12_345;
      await withoutMemory(Math.ceil((4 * elements) / 64) * 64, async () => {
        tidy(() => void deviceGuard(device, () => ones([elements])));
        await device.synchronize();
      });
      await settled(device);
      const x = deviceGuard(device, () => ones([elements]));
      expect((await values(x)).slice(0, 2)).toEqual([1, 1]);
      x.dispose();
    });
  });

  describe('reads at once', () => {
    it.each<[string, (x: Tensor) => unknown, RegExp, (x: Tensor) => Promise<unknown>]>([
      ['itemSync', (x) => x.sum().itemSync(), /await x\.item\(\)/, (x) => x.sum().item()],
      ['dataSync', (x) => x.dataSync(), /await x\.data\(\)/, (x) => x.data()],
      ['toArraySync', (x) => x.toArraySync(), /await x\.toArray\(\)/, (x) => x.toArray()],
      [
        'nonzero',
        (x) => x.nonzero(),
        /\(await x\.toAsync\('cpu'\)\)\.nonzero/,
        async (x) => (await x.toAsync('cpu')).nonzero(),
      ],
      ['to', (x) => x.to('cpu'), /await x\.toAsync\('cpu'\)/, (x) => x.toAsync('cpu')],
    ])('%s names what can be awaited, and that works', async (use, atOnce, remedy, awaited) => {
      const x = deviceGuard(gpu(), () => tensor([1, 0, 3]));
      expect(() => atOnce(x)).toThrow(DeviceError);
      expect(() => atOnce(x)).toThrow(remedy);
      expect(() => atOnce(x)).toThrow(new RegExp(`^${use}: `));
      await expect(awaited(x)).resolves.toBeDefined();
    });
  });

  it('remedies name functions that are exported', async () => {
    const device = gpu();
    const lost = deviceGuard(device, () => ones([4]));
    await shutdown('gpu');
    const message = await lost.data().then(String, (error: Error) => error.message);
    const named = [...message.matchAll(/\b(init|shutdown|destroyGpu)\(/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(0);
    for (const name of named) expect(Object.keys(tostatic)).toContain(name);
    await init('gpu', { allowSoftware: true });
  });

  it('parameters of a lost device are restored on the next one from copies on the CPU', async () => {
    const first = await init('gpu', { allowSoftware: true });
    const x = tensor([[1, 2, 3]]);
    const build = (device: Device) => deviceGuard(device, () => new nn.Linear(3, 2));
    const before = build(first);
    const expected = await deviceGuard(first, () => before.forward(x)).data();
    const saved = new Map<string, Tensor>();
    for (const [name, value] of before.namedParameters()) {
      saved.set(name, await value.detach().toAsync('cpu'));
    }
    (await webGpuDevice()).destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expect(before.weight.data()).rejects.toThrow(/the GPU was lost/);
    const next = await init('gpu', { allowSoftware: true });
    const after = build(next);
    after.loadStateDict(Object.fromEntries(saved));
    expect(await deviceGuard(next, () => after.forward(x)).data()).toEqual(expected);
    await shutdown('gpu');
  });

  it('a device that is lost is not the next one that init returns', async () => {
    const first = await init('gpu', { allowSoftware: true });
    const before = deviceGuard(first, () => new nn.Linear(2, 2));
    let isTold = false;
    void first.lost!.then(() => {
      isTold = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isTold).toBe(false);
    (await webGpuDevice()).destroy();
    expect(await first.lost).toEqual(expect.any(String));
    const use = () => deviceGuard(first, () => before.weight.mul(2));
    expect(use).toThrow(DeviceError);
    expect(use).toThrow(/the GPU was lost[\s\S]*await init\('gpu'\) again/);
    await expect(before.weight.data()).rejects.toThrow(/the GPU was lost/);
    const [next, same] = await Promise.all([
      init('gpu', { allowSoftware: true }),
      init('gpu', { allowSoftware: true }),
    ]);
    expect(next).not.toBe(first);
    expect(same).toBe(next);
    const x = deviceGuard('gpu', () => tensor([1, 2]).mul(2));
    expect(await values(x)).toEqual([2, 4]);
    // What ends by itself isn't lost.
    await shutdown('gpu');
    const late = new Promise((resolve) => setTimeout(resolve, 50, 'not lost'));
    expect(await Promise.race([next.lost, late])).toBe('not lost');
  });
});

/** WebGPU tells of errors some time after they happened. */
async function settled(device: { synchronize(): Promise<void> }): Promise<void> {
  for (let i = 0; i < 3; i++) await device.synchronize();
  await new Promise((resolve) => setTimeout(resolve, 20));
}
