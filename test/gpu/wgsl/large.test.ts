/** Tensors of more elements than float32 can number: up to what the adapter binds. */

import { describe, expect, it, vi } from 'vitest';
import {
  deviceGuard,
  embedding,
  full,
  matmul,
  OutOfMemoryError,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from '../../../runtime/index.ts';
import '../../../runtime/tensor-methods/methods.ts';
import { gpuKernel } from '../../../src/index.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';

/** 16,843,009 elements: more than 2^24, and more workgroups than one dimension of a dispatch has. */
const [rows, columns] = [65537, 257];

describe.skipIf(skipGpu)('gpu/large', () => {
  const gpu = gpuForTests();
  const on = <T>(body: () => T): T => deviceGuard(gpu(), body);

  /** Kernels of gpu.js number in float32: the CPU computes them, or they are refused by name. */
  async function expectGpuJsKeptOut(w: Tensor): Promise<void> {
    const sample = gpuKernel(
      function sample(a: number[]) {
        return a[this.thread.x * 16842752 + 2]! * 2;
      },
      { shape: [2], gradient: null },
    );
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const sampled = on(() => sample(w));
    expect([...(await sampled.data())]).toEqual([1, 2 * 2002]);
    expect(warned).toHaveBeenCalledOnce();
    const last = on(() => w.narrow(0, rows * columns - 4, 4));
    expect(() => on(() => sample(last))).toThrow('at most 2^24 elements');
    for (const t of [sampled, last, w]) t.dispose();
  }

  it('elements beyond 2^24 are filled, written, chosen, multiplied and added up', async () => {
    const w = on(() => full([rows, columns], 0.5));
    const row = (number: number) => Array.from({ length: columns }, (_, i) => number * 1000 + i);
    on(() => tidy(() => void w.narrow(0, rows - 2, 2).copy_(tensor([row(1), row(2)]))));
    const last = on(() => tidy(() => w.narrow(0, rows - 3, 3).contiguous()));
    expect([...(await last.data())]).toEqual([...row(0).fill(0.5), ...row(1), ...row(2)]);
    const chosen = on(() =>
      tidy(() => embedding(w, tensor([rows - 1, 0, rows - 2], { dtype: 'int32' }))),
    );
    expect([...(await chosen.data())]).toEqual([...row(2), ...row(0).fill(0.5), ...row(1)]);
    const product = on(() =>
      tidy(() => matmul(full([1, columns], 1), w.narrow(0, rows - 4, 4).t())),
    );
    const sum = (values: readonly number[]) => values.reduce((a, b) => a + b);
    const half = columns / 2;
    expect([...(await product.data())]).toEqual([half, half, sum(row(1)), sum(row(2))]);
    const column = on(() => tidy(() => w.select(1, 3).sum()));
    expect(await column.item()).toBe((rows - 2) / 2 + 1003 + 2003);
    for (const t of [last, chosen, product, column]) t.dispose();
    await expectGpuJsKeptOut(on(() => w.view([rows * columns])));
    w.dispose();
    gpu().emptyCache();
  });

  it('a tensor that no kernel could bind is refused with the limit that it exceeds', () => {
    const { allocated } = gpu().allocator.counter;
    const make = (): Tensor => on(() => zeros([2 ** 33]));
    expect(make).toThrow(OutOfMemoryError);
    expect(make).toThrow(/adapter's max(StorageBufferBinding|Buffer)Size/);
    expect(gpu().allocator.counter.allocated).toBe(allocated);
  });
});
