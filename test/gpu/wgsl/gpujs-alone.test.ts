/** `kernels: 'gpu.js'`: the kernels that gpu.js compiles are enough to train. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GpuDevice } from '../../../runtime/device/gpu/gpu-device.ts';
import { destroyGpu } from '../../../runtime/device/gpu/init.ts';
import {
  crossEntropy,
  type Device,
  DTypeError,
  deviceGuard,
  deviceNamed,
  init,
  keep,
  optim,
  randn,
  seed,
  softshrink,
  type Tensor,
  tensor,
  tidy,
} from '../../../runtime/index.ts';
import { toStatic } from '../../../src/to-static.ts';
import { skipGpu, useSoftwareAdapter } from '../open-gpu.ts';
import { expectClose, expectParity } from '../parity.ts';
import { smallModels } from '../webgl/page/small-models.ts';

async function losses(device: Device, name: keyof typeof smallModels, capture: boolean) {
  const { make, shape } = smallModels[name];
  seed(5);
  const [x, labels, model] = deviceGuard(
    device,
    () => [randn(shape), tensor(new Int32Array([0, 3, 1, 2, 3, 0, 1, 2])), make()] as const,
  );
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.02 });
  const step = (input: Tensor, target: Tensor): Tensor => {
    const loss = crossEntropy(model.forward(input), target);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const run = capture ? toStatic(step) : (a: Tensor, b: Tensor) => keep(tidy(() => step(a, b)));
  const found: number[] = [];
  for (let i = 0; i < 4; i++) {
    const loss = run(x, labels);
    found.push(await loss.item());
    loss.dispose();
  }
  optimizer.dispose();
  model.dispose();
  x.dispose();
  labels.dispose();
  return found;
}

describe.skipIf(skipGpu)("gpu/gpujs-alone: init('gpu', { kernels: 'gpu.js' })", () => {
  let device: GpuDevice;
  beforeAll(async () => {
    if (skipGpu) return;
    useSoftwareAdapter();
    device = (await init('gpu', { kernels: 'gpu.js' })) as GpuDevice;
  });
  afterAll(destroyGpu);

  it.each(['MLP', 'ConvNet'] as const)('%s learns as on the CPU', async (name) => {
    const expected = await losses(deviceNamed('cpu'), name, false);
    const eager = await losses(device, name, false);
    expectClose(eager, expected, { relative: 1e-3 });
    expect(await losses(device, name, true)).toEqual(eager);
    expect(eager[3]).toBeLessThan(eager[0]!);
    expect(device.kernelStats.compiled).toBeGreaterThan(10);
    expect(device.kernelStats.wgsl).toBe(0);
    expect(device.computedOnCpu.size).toBe(0);
  });

  it('tanh keeps small numbers and zeros, a product with 0 the sign and NaN', async () => {
    const values = [0, -0, 1e-30, -1e-30, 1e-5, -0.3, 0.6, 0.7, 20, Infinity, NaN];
    for (const body of [() => tensor(values).tanh(), () => softshrink(tensor(values))]) {
      await expectParity(device, body, { relative: 5e-5, absolute: 0 });
    }
  });

  it('integers that float32 cannot hold are refused at the upload', () => {
    const upload = () => deviceGuard(device, () => tensor(new Int32Array([1, 2 ** 24 + 1])));
    expect(upload).toThrow(DTypeError);
    expect(upload).toThrow(/16777217 at element 1/);
    const product = () =>
      deviceGuard(device, () =>
        tensor([[1, 2]])
          .int()
          .matmul(tensor([1, 2]).int()),
      );
    expect(product).toThrow(/stores integers as float32/);
    for (const dtype of ['float16', 'uint8', 'float64'] as const) {
      expect(() => device.elementBytes(dtype)).toThrow(DTypeError);
    }
  });
});
