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
    await device.synchronize();
    again();
    await device.synchronize();
    const { submits } = device.commandCounts;
    for (let i = 0; i < 600; i++) again();
    expect([...(await x.data())]).toEqual([602, 602, 602]);
    expect(device.commandCounts.submits - submits).toBe(3);
  });
});
