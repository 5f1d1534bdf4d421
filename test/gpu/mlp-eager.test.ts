import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { deviceGuard, deviceNamed } from '../../runtime/device/current.ts';
import type { Device } from '../../runtime/device/device.ts';
import { tensor } from '../../runtime/ops/core/create.ts';
import { crossEntropy } from '../../runtime/ops/loss/class-losses.ts';
import { randn } from '../../runtime/ops/random/drawn.ts';
import { seed } from '../../runtime/random/seed.ts';
import { keep, tidy } from '../../runtime/tensor/lifetime.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import { expectClose } from './parity.ts';

interface Run {
  readonly losses: number[];
  /** Bytes allocated after each step, above those before the first. */
  readonly growth: number[];
  readonly weight: ArrayLike<number>;
}

const labels = new Int32Array([0, 3, 1, 2, 3, 0, 1, 2]);

/** Five steps of SGD, everything eager; the same seed draws the same start on every device. */
async function train(device: Device): Promise<Run> {
  const { counter } = device.allocator;
  const start = counter.allocated;
  seed(11);
  const [x, target, parameters] = deviceGuard(device, () => {
    const scaled = (shape: number[], scale: number) => tidy(() => randn(shape).mul(scale));
    const parameters = [
      scaled([6, 16], 0.5),
      scaled([16], 0.1),
      scaled([16, 4], 0.3),
      scaled([4], 0.1),
    ];
    for (const parameter of parameters) parameter.requiresGrad_();
    return [randn([8, 6]), tensor(labels), parameters];
  });
  const [w1, b1, w2, b2] = parameters as [Tensor, Tensor, Tensor, Tensor];
  const step = () =>
    tidy(() => {
      const hidden = x.matmul(w1).add(b1).relu();
      const loss = crossEntropy(hidden.matmul(w2).add(b2), target);
      loss.backward();
      noGrad(() => {
        for (const parameter of parameters) {
          parameter.add_(parameter.grad!, -0.5);
          parameter.grad!.dispose();
          parameter.grad = null;
        }
      });
      return loss.detach();
    });
  const losses: number[] = [];
  const growth: number[] = [];
  for (let i = 0; i < 5; i++) {
    const loss = keep(deviceGuard(device, step));
    losses.push(await loss.item());
    loss.dispose();
    growth.push(counter.allocated - start);
  }
  const weight = await w1.data();
  for (const t of [x, target, ...parameters]) t.dispose();
  expect(counter.allocated).toBe(start);
  return { losses, growth, weight };
}

describe.skipIf(skipGpu)('gpu/mlp-eager', () => {
  const gpu = gpuForTests();

  it('learns like the CPU does, step by step, and leaks nothing', async () => {
    const expected = await train(deviceNamed('cpu'));
    const { losses, growth, weight } = await train(gpu());
    expectClose(losses, expected.losses, { relative: 1e-4 });
    expectClose(weight, expected.weight, { relative: 1e-3, absolute: 1e-5 });
    expect(losses[4]).toBeLessThan(losses[0]! * 0.8);
    // x, target and the parameters; nothing else outlives a step, not even the first.
    expect(new Set(growth)).toEqual(new Set([192 + 64 + 384 + 64 + 256 + 64]));
  });

  it('compiles nothing after the first step', async () => {
    const before = gpu().kernelStats.compiled;
    await train(gpu());
    expect(gpu().kernelStats.compiled).toBe(before);
  });
});
