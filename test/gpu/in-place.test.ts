import { describe, expect, it } from 'vitest';
import { deviceGuard } from '../../runtime/device/current.ts';
import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import { tensor } from '../../runtime/ops/core/create.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import { expectClose, expectParity } from './parity.ts';

const grid = () =>
  tensor(
    new Float32Array(12).map((_, i) => i + 1),
    { shape: [3, 4] },
  );

describe.skipIf(skipGpu)('gpu/in-place', () => {
  const gpu = gpuForTests();

  /** Writes into a fresh grid on both devices; the whole grid afterwards is compared. */
  const parity = (write: (x: Tensor) => Tensor) =>
    expectParity(gpu(), () => {
      const x = grid();
      const written = write(x);
      if (written !== x) written.dispose();
      return x;
    });

  it('writes over a whole tensor', async () => {
    await parity((x) => x.add_(grid(), 0.5));
    await parity((x) => x.mul_(3));
    await parity((x) => x.addcmul_(grid(), grid(), 2));
    await parity((x) => x.addcdiv_(grid(), grid().add(1), 2));
    await parity((x) => x.fill_(7));
    await parity((x) => x.copy_(tensor([1, 2, 3, 4])));
    await parity((x) => x.add_(tensor([[1], [2], [3]])));
  });

  it('writes over views with offsets and strides, and leaves the rest', async () => {
    await parity((x) => x.narrow(0, 1, 2).add_(10));
    await parity((x) => x.narrow(1, 1, 2).mul_(-1));
    await parity((x) => x.transpose(0, 1).add_(tensor([100, 200, 300])));
    await parity((x) =>
      x
        .transpose(0, 1)
        .narrow(0, 1, 2)
        .copy_(tensor([[7], [8]])),
    );
    await parity((x) => x.select(1, 3).fill_(0));
    await parity((x) => x.select(0, 2).add_(x.select(0, 0)));
  });

  it('an operand may be the target itself', async () => {
    await parity((x) => x.add_(x));
    await parity((x) => x.addcmul_(x, x, 2));
    await parity((x) => x.narrow(1, 1, 2).mul_(x.narrow(1, 1, 2)));
    await parity((x) => x.copy_(x));
  });

  it('an operand that overlaps the target otherwise is read before it is overwritten', async () => {
    const square = () =>
      deviceGuard(gpu(), () =>
        tensor([
          [1, 2],
          [3, 4],
        ]),
      );
    const x = square();
    x.add_(x.transpose(0, 1));
    expectClose(await x.data(), [2, 5, 5, 8]);
    const y = square();
    y.transpose(0, 1).copy_(y);
    expectClose(await y.data(), [1, 3, 2, 4]);
    const z = deviceGuard(gpu(), () => tensor([1, 2, 3, 4, 5]));
    z.narrow(0, 1, 4).copy_(z.narrow(0, 0, 4));
    expectClose(await z.data(), [1, 1, 2, 3, 4]);
    for (const t of [x, y, z]) t.dispose();
  });

  it('needs no memory when every thread reads where it writes', async () => {
    const { counter } = gpu().allocator;
    const [x, y] = deviceGuard(gpu(), () => [grid(), grid()]);
    const { allocations } = counter;
    x.add_(y, 0.1);
    x.narrow(1, 1, 2).mul_(3);
    x.add_(x);
    expect(counter.allocations).toBe(allocations);
    // Overlap: the result is made elsewhere, and counted.
    counter.reset();
    const { allocated } = counter;
    x.narrow(0, 0, 2).copy_(x.narrow(0, 1, 2));
    expect(counter.allocations).toBe(1);
    expect(counter.peakAllocated).toBe(allocated + 64);
    expect(counter.allocated).toBe(allocated);
    x.dispose();
    y.dispose();
  });

  it('any op may write over its operand when a program reuses its memory', async () => {
    const device = gpu();
    const rows = () =>
      tensor(
        new Float32Array(300).map((_, i) => Math.sin(i)),
        { shape: [3, 100] },
      );
    const square = () =>
      tensor(
        new Float32Array(16).map((_, i) => i),
        { shape: [4, 4] },
      );
    const cases = [
      ['relu', rows],
      ['softmax', rows],
      ['logSoftmax', square],
      ['matmul', square],
    ] as const;
    for (const [name, make] of cases) {
      const op = opNamed(name);
      const [x, expected] = deviceGuard(device, () => {
        const x = make();
        return [x, bind1(op, name === 'matmul' ? [x, x] : [x])];
      });
      const inputs = name === 'matmul' ? [x, x] : [x];
      device.prepare(op, inputs, [contiguousMeta(x, device)], {})(inputs, [x]);
      expectClose(await x.data(), await expected.data());
      x.dispose();
      expected.dispose();
    }
  });
});
