/** Tensors of the CPU and the GPU in one computation, eagerly and in programs. */

import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openWeights } from '../../runtime/weights/index.ts';
import {
  DeviceError,
  deviceGuard,
  memory,
  nn,
  ones,
  optim,
  seed,
  setDevice,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { logitsOf, ViT, vitName } from '../weights/models.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';

describe.skipIf(skipGpu)('gpu/transfers', () => {
  const gpu = gpuForTests();
  afterEach(() => setDevice('cpu'));

  const close = (found: ArrayLike<number>, expected: ArrayLike<number>) => {
    expect(found.length).toBe(expected.length);
    Array.from(expected).forEach((value, i) => {
      expect(Math.abs(found[i]! - value)).toBeLessThan(1e-5 + 1e-4 * Math.abs(value));
    });
  };

  it('gradients go back over both ways of a transfer', async () => {
    const x = tensor([1, 2, 3]).requiresGrad_();
    const y = deviceGuard('gpu', () => x.mul(2).exp());
    expect([y.device.name, y.requiresGrad]).toEqual(['gpu', true]);
    const loss = (await y.toAsync('cpu')).sum();
    expect(loss.requiresGrad).toBe(true);
    await loss.backwardAsync();
    expect(x.grad!.device.name).toBe('cpu');
    close(
      x.grad!.dataSync(),
      [1, 2, 3].map((value) => 2 * Math.exp(2 * value)),
    );
  });

  it('a backward that would have to wait says what can be awaited, and that works', async () => {
    const x = ones([2]).requiresGrad_();
    const loss = () => x.to(gpu()).mul(3).sum();
    expect(() => loss().backward()).toThrow(DeviceError);
    expect(() => loss().backward()).toThrow(/await loss\.backwardAsync\(\)/);
    x.grad = null;
    await loss().backwardAsync();
    expect([...x.grad!.dataSync()]).toEqual([3, 3]);
  });

  it('operands of two devices meet on the GPU, under the guard of either', async () => {
    const a = tensor([1, 2]).requiresGrad_();
    const b = tensor([3, 4]).to(gpu()).requiresGrad_();
    for (const guard of ['cpu', 'gpu']) {
      const y = deviceGuard(guard, () => a.mul(b));
      expect([y.device.name, ...(await y.data())]).toEqual(['gpu', 3, 8]);
      await y.sum().backwardAsync();
      expect([a.grad!.device.name, ...a.grad!.dataSync()]).toEqual(['cpu', 3, 4]);
      expect([b.grad!.device.name, ...(await b.grad!.data())]).toEqual(['gpu', 1, 2]);
      a.grad = null;
      b.grad = null;
    }
    expect(() => a.mul(b)).toThrow(/different devices/);
  });

  const make = (device: 'cpu' | 'gpu') => {
    seed(3);
    const table = new nn.Embedding(40, 4);
    const rest = deviceGuard(device, () => new nn.Linear(4, 1));
    const parameters = [...table.parameters(), ...rest.parameters()];
    const optimizer = new optim.SGD(parameters, { lr: 0.3, momentum: 0.9 });
    const forward = (indices: Tensor): Tensor => {
      const rows = deviceGuard('cpu', () => table.forward(indices));
      return deviceGuard(device, () => rest.forward(rows.tanh()).square().mean());
    };
    return { table, rest, optimizer, forward };
  };

  const train = async (
    { optimizer }: ReturnType<typeof make>,
    forward: (indices: Tensor) => Tensor,
  ) => {
    const losses: number[] = [];
    for (const row of [0, 1, 2, 3]) {
      const indices = tensor(new Int32Array([row, 7, 3, row + 9]));
      const loss = forward(indices);
      optimizer.zeroGrad();
      await loss.backwardAsync();
      optimizer.step();
      losses.push(await loss.item());
    }
    return losses;
  };

  it('an embedding on the CPU trains with the rest on the GPU, eagerly and captured', async () => {
    const here = make('cpu');
    const expected = await train(here, here.forward);
    const eager = make('gpu');
    close(await train(eager, eager.forward), expected);
    close(eager.table.weight.dataSync(), here.table.weight.dataSync());
    const captured = make('gpu');
    const forward = toStatic(captured.forward, { fullGraph: true });
    close(await train(captured, forward), expected);
    expect(forward.stats().breaks).toEqual([]);
    close(captured.table.weight.dataSync(), here.table.weight.dataSync());
    close(await captured.rest.weight.data(), here.rest.weight.dataSync());
  });

  it('the GPU has the rows that were looked up, not the table', async () => {
    const table = ones([20_000, 4]).requiresGrad_();
    memory.reset(gpu());
    const before = memory.stats(gpu()).allocated;
    const rows = table.indexSelect(0, tensor(new Int32Array([1, 5])));
    const loss = deviceGuard('gpu', () => rows.square().sum());
    await loss.backwardAsync();
    expect(memory.stats(gpu()).peakAllocated - before).toBeLessThan(2000);
    expect(table.grad!.device.name).toBe('cpu');
    tidy(() => expect(table.grad!.sum().itemSync()).toBe(16));
  });

  it('weights of a file go into a module on the GPU, with no other memory there or here', async () => {
    const config = { width: 16, layers: 2, heads: 2, hidden: 24, image: 8, patch: 4, labels: 5 };
    const fixtures = join(import.meta.dirname, '../weights/fixtures');
    await using weights = await openWeights(join(fixtures, 'vit/model.safetensors'));
    await using arrays = await openWeights(join(fixtures, 'vit-logits.npz'));
    const [images, expected] = [await arrays.tensor('images'), await arrays.tensor('logits')];
    const model = new ViT(config).eval();
    model.to('gpu');
    for (const device of ['cpu', 'gpu']) memory.reset(device);
    const before = ['cpu', 'gpu'].map((device) => memory.stats(device).allocated);
    await weights.loadInto(model, { names: vitName });
    expect(['cpu', 'gpu'].map((device) => memory.stats(device).peakAllocated)).toEqual(before);
    close(await logitsOf(model, images.to(gpu())), expected.dataSync());
    model.dispose();
  });
});
