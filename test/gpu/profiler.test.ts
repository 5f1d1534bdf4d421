/** On a GPU kernels are issued, and reads answer later: the profiler tells them apart. */

import { describe, expect, it } from 'vitest';
import { deviceGuard } from '../../runtime/device/current.ts';
import { profile } from '../../runtime/profiler/profiler.ts';
import { tensor } from '../../runtime/tensor/create.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import '../../runtime/tensor/methods.ts';

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
});
