/** On a GPU kernels are issued, and reads answer later: the profiler tells them apart. */

import { describe, expect, it } from 'vitest';
import { deviceGuard } from '../../runtime/device/current.ts';
import { tensor } from '../../runtime/ops/core/create.ts';
import { ones } from '../../runtime/ops/movement/create.ts';
import { profile } from '../../runtime/profiler/profiler.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import { counted, webGpuDevice } from './wgsl/counted.ts';
import '../../runtime/device/cpu/cpu-device.ts';
import '../../runtime/tensor-methods/methods.ts';

describe.skipIf(skipGpu)('gpu/profiler', () => {
  const gpu = gpuForTests();

  it('counts copies by their direction, and whether somebody waited', async () => {
    const name = gpu().name;
    const { result, profile: recorded } = await profile(() =>
      deviceGuard(gpu(), () => {
        const x = tensor(new Float32Array(100));
        const y = x.add(1);
        const read = y.data();
        x.dispose();
        y.dispose();
        return read;
      }),
    );
    expect(result[99]).toBe(1);
    expect(recorded.copies.sync).toMatchObject({ calls: 1, bytes: 400 });
    expect(recorded.copies.async).toMatchObject({ calls: 1, bytes: 400 });
    const names = recorded.rows('name').map((row) => row.name);
    expect(names).toEqual([`MemcpyAsync:${name}->host`, `MemcpySync:host->${name}`, 'add']);
    expect(recorded.devices).toEqual([name]);
  });

  it('times kernels by the clock of the GPU, those that wait for their build or run after the recording too', async () => {
    const [x, w] = deviceGuard(gpu(), () => [ones([96, 96]), ones([96, 96])] as const);
    const body = () => {
      for (let i = 0; i < 2; i++) tidy(() => void x.matmul(w).tanh());
    };
    await gpu().synchronize();
    const before = gpu().commandCounts;
    const { profile: recorded, result } = profile(body);
    expect(result).toBeUndefined();
    const rows = await recorded.deviceTimes();
    const { dispatches, submits } = gpu().commandCounts;
    expect(dispatches - before.dispatches).toBe(4);
    const facts = rows.map(({ name, device, kernels }) => ({ name, device, kernels }));
    expect(facts).toContainEqual({ name: 'matmul', device: gpu().name, kernels: 2 });
    expect(facts).toContainEqual({ name: 'tanh', device: gpu().name, kernels: 2 });
    expect(facts).toHaveLength(2);
    for (const { total, min, max, average } of rows) {
      expect(min).toBeGreaterThan(0);
      expect(max).toBeGreaterThanOrEqual(min);
      expect(total).toBeCloseTo(average * 2);
    }
    expect(rows[0]!.total).toBeGreaterThanOrEqual(rows[1]!.total);
    expect(rows.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
    // Recorded in the order in which they run: one submit, which nothing waits for.
    const again = profile(body).profile;
    await gpu().synchronize();
    expect(gpu().commandCounts.submits - submits).toBe(1);
    expect((await again.deviceTimes()).map(({ kernels }) => kernels)).toEqual([2, 2]);
    for (const t of [x, w]) t.dispose();
  });

  it('times nothing without a recording, or on the CPU', async () => {
    const x = deviceGuard(gpu(), () => ones([8]));
    x.add(1).dispose();
    await gpu().synchronize();
    const made = counted(await webGpuDevice(), 'createBuffer');
    const { profile: recorded } = profile(() =>
      deviceGuard('cpu', () => ones([8]).add(1).dispose()),
    );
    x.add(1).dispose();
    await gpu().synchronize();
    expect(made.stop()).toBe(0);
    expect(await recorded.deviceTimes()).toEqual([]);
    x.dispose();
  });
});
