/** How often work is sent to the GPU, and what a steady step makes anew. */

import { describe, expect, it } from 'vitest';
import {
  crossEntropy,
  deviceGuard,
  nn,
  ones,
  optim,
  randn,
  relu,
  type Tensor,
  tensor,
  tidy,
} from '../../runtime/index.ts';
import { events } from '../../runtime/memory/events.ts';
import { toStatic } from '../../src/to-static.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import { counted, webGpuDevice } from './wgsl/counted.ts';

describe.skipIf(skipGpu)('gpu/submits', () => {
  const gpu = gpuForTests();

  it.each(['eager', 'static'])('a steady %s training step is one submit', async (mode) => {
    const device = gpu();
    const first = deviceGuard(device, () => new nn.Linear(6, 16));
    const second = deviceGuard(device, () => new nn.Linear(16, 4));
    const [x, labels] = deviceGuard(
      device,
      () => [randn([8, 6]), tensor(new Int32Array([0, 3, 1, 2, 3, 0, 1, 2]))] as const,
    );
    const objective = (input: Tensor, target: Tensor) =>
      crossEntropy(second.forward(relu(first.forward(input))), target);
    const run = mode === 'static' ? toStatic(objective) : objective;
    const parameters = [...first.parameters(), ...second.parameters()];
    const optimizer = new optim.SGD(parameters, { lr: 0.1, momentum: 0.9 });
    const step = () =>
      tidy(() => {
        run(x, labels).backward();
        optimizer.step();
        optimizer.zeroGrad();
      });
    for (let i = 0; i < 16; i++) {
      step();
      await device.synchronize();
    }
    const webGpu = await webGpuDevice();
    const sent = counted(webGpu.queue, 'submit');
    const made = [
      counted(webGpu, 'createBindGroup'),
      counted(webGpu, 'createBuffer'),
      counted(webGpu, 'createComputePipeline'),
    ];
    const before = device.commandCounts;
    for (let i = 0; i < 3; i++) {
      step();
      await device.synchronize();
    }
    const after = device.commandCounts;
    expect(sent.stop()).toBe(3);
    expect(after.submits - before.submits).toBe(3);
    expect(made.map((calls) => calls.stop())).toEqual([0, 0, 0]);
    expect(after.dispatches - before.dispatches).toBeGreaterThan(30);
  });

  describe('a steady program that waits', () => {
    const branch = async (x: Tensor): Promise<Tensor> => {
      const y = x.matmul(x);
      if ((await y.sum().item()) > 0) return y.mul(2).tanh();
      return y.sub(1).relu();
    };
    const loop = async (x: Tensor): Promise<Tensor> => {
      let y = x;
      while ((await y.abs().sum().item()) < 100) y = y.mul(2).add(1);
      return y;
    };
    const read = async (x: Tensor): Promise<Tensor> => {
      const y = x.mul(3);
      expect((await y.data()).length).toBe(16);
      return y;
    };

    // The elements of ones([4, 4]) are 1, 3, 7.
    it.each([
      ['for a branch', branch, [4]],
      ['for a loop', loop, [4, 4, 4]],
      ['for elements', read, [64]],
    ] as const)('%s submits once per read, and makes nothing', async (_name, fn, bytes) => {
      const device = gpu();
      const run = toStatic(fn);
      const x = deviceGuard(device, () => ones([4, 4]));
      const step = async () => {
        const result = await run(x);
        await device.synchronize();
        result.dispose();
      };
      for (let i = 0; i < 16; i++) await step();
      const webGpu = await webGpuDevice();
      const sent = counted(webGpu.queue, 'submit');
      const made = [
        counted(webGpu, 'createBindGroup'),
        counted(webGpu, 'createBuffer'),
        counted(webGpu, 'createComputePipeline'),
      ];
      const copies: number[] = [];
      const unsubscribe = events.subscribe((event) => {
        if (event.kind === 'copy') copies.push(event.bytes);
      });
      const { submits } = device.commandCounts;
      await step();
      unsubscribe();
      expect(copies).toEqual(bytes);
      // In a branch, ops follow the read.
      const expected = bytes.length + (fn === branch ? 1 : 0);
      expect([sent.stop(), device.commandCounts.submits - submits]).toEqual([expected, expected]);
      expect(made.map((calls) => calls.stop())).toEqual([0, 0, 0]);
    });
  });

  it('uploads and destroyed buffers keep their places in the order', async () => {
    const device = gpu();
    const x = deviceGuard(device, () => ones([1000]));
    await device.synchronize();
    const sums: Tensor[] = [];
    for (let i = 0; i < 3; i++) {
      sums.push(tidy(() => deviceGuard(device, () => x.mul(tensor([i])).sum())));
      device.emptyCache();
    }
    expect(await Promise.all(sums.map((sum) => sum.item()))).toEqual([0, 1000, 2000]);
  });

  it('a sequence longer than a batch computes what it computes in parts', async () => {
    const device = gpu();
    const x = deviceGuard(device, () => ones([3]));
    const again = () => tidy(() => void deviceGuard(device, () => x.add_(1)));
    again();
    // The first read of a process makes a buffer to read from.
    await x.data();
    const { submits } = device.commandCounts;
    for (let i = 0; i < 600; i++) again();
    expect([...(await x.data())]).toEqual([602, 602, 602]);
    expect(device.commandCounts.submits - submits).toBe(3);
  });
});
