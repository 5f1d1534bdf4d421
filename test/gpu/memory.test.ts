import { describe, expect, it } from 'vitest';
import { deviceGuard } from '../../runtime/device/current.ts';
import type { BufferHandle } from '../../runtime/device/gpu/core/buffer-pool.ts';
import { BufferPool } from '../../runtime/device/gpu/core/buffer-pool.ts';
import { recordEvents } from '../../runtime/memory/events.ts';
import { tensor } from '../../runtime/ops/core/create.ts';
import { ones, zeros } from '../../runtime/ops/movement/create.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { gpuForTests, onDevice, skipGpu } from './open-gpu.ts';
import '../../runtime/tensor-methods/methods.ts';

describe.skipIf(skipGpu)('gpu/memory', () => {
  const gpu = gpuForTests();

  it('all bytes are back after dispose, and stay reserved for the next tensor of the size', async () => {
    const { counter } = gpu().allocator;
    const before = counter.allocated;
    await onDevice(gpu(), async () => {
      const x = tensor(new Float32Array(1000));
      expect(counter.allocated).toBe(before + 4032);
      const y = x.mul(2);
      const total = y.sum();
      expect(counter.allocated).toBe(before + 2 * 4032 + 64);
      const read = total.data();
      for (const t of [x, y, total]) t.dispose();
      expect(counter.allocated).toBe(before);
      expect([...(await read)]).toEqual([0]);
    });
    expect(counter.allocated).toBe(before);
    expect(counter.reserved).toBeGreaterThanOrEqual(2 * 4032 + 64);
  });

  it('a step in tidy leaves nothing, and takes no new buffer the second time', async () => {
    const { counter } = gpu().allocator;
    const step = () =>
      deviceGuard(gpu(), () =>
        tidy(() => {
          const loss = ones([10, 10])
            .matmul(ones([10, 10]))
            .logSoftmax()
            .sum();
          return { read: loss.data() };
        }),
      ).read;
    const before = counter.allocated;
    await step();
    expect(counter.allocated).toBe(before);
    const { reserved } = counter;
    await step();
    expect(counter.allocated).toBe(before);
    expect(counter.reserved).toBe(reserved);
  });

  it('a freed buffer is the next of its size, and holds only what is written then', async () => {
    const device = gpu();
    await onDevice(device, async () => {
      const x = ones([77]);
      const { ptr } = x.holder!;
      const read = x.data();
      x.dispose();
      const y = zeros([77]);
      expect(y.holder!.ptr).toBe(ptr);
      expect([...(await read)]).toEqual(Array(77).fill(1));
      expect([...(await y.data())]).toEqual(Array(77).fill(0));
      y.dispose();
    });
  });

  it('predicts the scratch of kernels in two stages, to the byte', async () => {
    const device = gpu();
    const { counter } = device.allocator;
    const sum = opNamed('sum');
    const attrs = { dims: [0], keepDim: false };
    await onDevice(device, async () => {
      const x = ones([5000]);
      const y = zeros([]);
      const predicted = device.scratchBytes(sum, [x], [y], attrs);
      expect(predicted).toBeGreaterThan(0);
      const { allocated } = counter;
      counter.reset();
      device.prepare(sum, [x], [y], attrs)([x], [y]);
      expect(counter.peakAllocated - allocated).toBe(predicted);
      expect(counter.allocated).toBe(allocated);
      expect(await y.item()).toBe(5000);
      x.dispose();
      y.dispose();
    });
  });

  it('elements take the bytes of their dtype', () => {
    const device = gpu();
    const { counter } = device.allocator;
    for (const [dtype, bytes] of [
      ...(['bool', 'uint8'] as const).map((own) => [own, 1] as const),
      ...(['float16', 'bfloat16'] as const).map((own) => [own, 2] as const),
      ...(['int32', 'float32'] as const).map((own) => [own, 4] as const),
    ]) {
      const { allocated } = counter;
      const x = deviceGuard(device, () => zeros([640], { dtype }));
      expect(device.elementBytes(dtype)).toBe(bytes);
      expect(counter.allocated - allocated).toBe(640 * bytes);
      x.dispose();
    }
  });

  it('emptyCache gives idle buffers back', () => {
    const { counter, idleBytes } = gpu().allocator;
    const { reserved } = counter;
    expect(idleBytes).toBeGreaterThan(0);
    const { free, largest } = gpu().allocator.freeMemory();
    expect(free).toBe(idleBytes);
    expect(largest).toBeLessThanOrEqual(free);
    gpu().emptyCache();
    expect(gpu().allocator.idleBytes).toBe(0);
    expect(counter.reserved).toBe(reserved - idleBytes);
    expect(counter.reserved).toBe(counter.allocated);
  });

  it('emits allocations, kernels and copies, attributed to their op', async () => {
    const { events, result } = deviceGuard(gpu(), () =>
      recordEvents(() =>
        tidy(() => [
          tensor([1, 2])
            .add(tensor([3, 4]))
            .data(),
        ]),
      ),
    );
    expect([...(await result[0]!)]).toEqual([4, 6]);
    const kinds = events.flatMap((e) =>
      'op' in e && e.kind !== 'free' ? [`${e.kind} ${e.op}`] : [],
    );
    expect(kinds).toEqual([
      'alloc ',
      'copy ',
      'alloc ',
      'copy ',
      'alloc add',
      'kernel add',
      'copy ',
    ]);
  });
});

describe('gpu/buffer-pool', () => {
  it('trims the sizes that were unused longest when new buffers are needed', () => {
    const destroyed: number[] = [];
    const pool = new BufferPool('gpu', {
      maxBufferBytes: 2 ** 30,
      limitedBy: 'the test',
      createBuffer: () => ({}) as BufferHandle,
      destroyBuffer: ({ ptr }) => destroyed.push(ptr),
      reuseBuffer: () => {},
    });
    const megabyte = 2 ** 20;
    const first = pool.alloc(40 * megabyte);
    const second = pool.alloc(48 * megabyte);
    pool.free(first, 40 * megabyte);
    pool.free(second, 48 * megabyte);
    expect(pool.counter.reserved).toBe(88 * megabyte);
    pool.alloc(8 * megabyte);
    expect(destroyed).toEqual([first]);
    expect(pool.counter.reserved).toBe(56 * megabyte);
    expect(() => pool.free(first, 40 * megabyte)).toThrow('not allocated');
  });
});
