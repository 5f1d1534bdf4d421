/** Programs that were saved on the CPU, on the GPU: the same results and gradients, and bytes as predicted. */

import { afterEach, describe, expect, it } from 'vitest';
import {
  crossEntropy,
  DTypeError,
  type LoadedProgram,
  loadProgram,
  memory,
  nn,
  optim,
  randn,
  save,
  scaledDotProductAttention,
  seed,
  setDevice,
  type Tensor,
  tensor,
  tensorSpec,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { gpuForTests, nothingOnCpu, skipGpu } from './open-gpu.ts';

const full = { fullGraph: true } as const;

const close = (found: ArrayLike<number>, expected: ArrayLike<number>) =>
  Array.from(expected).forEach((value, i) => {
    expect(found[i]).toBeCloseTo(value, 4);
  });

describe.skipIf(skipGpu)('gpu/saved-programs', () => {
  const gpu = gpuForTests();
  const expectNothingOnCpu = nothingOnCpu(gpu);
  afterEach(() => setDevice('cpu'));

  const onGpu = (values: Tensor) => values.to(gpu());

  it('a network with its backward: results, gradients and predicted bytes', async () => {
    seed(5);
    const [first, second] = [new nn.Linear(6, 8), new nn.Linear(8, 3)];
    const f = toStatic((x: Tensor, labels: Tensor) => {
      const hidden = first.forward(x).exp().relu().softmax(1).mul(2).sigmoid();
      return crossEntropy(second.forward(hidden.maskedFill(hidden.gt(0.9), 0)), labels);
    }, full);
    const [x, labels] = [randn([5, 6]), tensor(new Int32Array([0, 1, 2, 1, 0]))];
    tidy(() => void f(x, labels));
    const bytes = await save(f);
    const there = await loadProgram(bytes, { device: gpu() });
    const here = await loadProgram(bytes);
    const run = (program: LoadedProgram, ...args: Tensor[]) => {
      const loss = program(...args) as Tensor;
      loss.backward();
      return loss;
    };
    const [xThere, labelsThere] = [onGpu(x), onGpu(labels)];
    const [found, expected] = [run(there, xThere, labelsThere), run(here, x, labels)];
    close(await found.data(), expected.dataSync());
    for (const [i, parameter] of here.parameters().entries()) {
      close(await there.parameters()[i]!.grad!.data(), parameter.grad!.dataSync());
    }
    // Without gradients the whole run is forward: its peak is what was predicted.
    for (const parameter of there.parameters()) parameter.grad = null;
    const before = memory.stats(gpu()).allocated;
    memory.reset(gpu());
    const again = there(xThere, labelsThere) as Tensor;
    expect(memory.stats(gpu()).peakAllocated - before).toBe(there.predicted()!.peakBytes);
    again.dispose();
    expectNothingOnCpu();
  });

  it.each(['cpu', 'gpu'])('attention and its gradient, saved on the device %s', async (name) => {
    const f = toStatic(
      (q: Tensor, k: Tensor, v: Tensor) => scaledDotProductAttention(q, k, v).square().sum(),
      { ...full, memory: { prefer: 'bytes' } },
    );
    seed(5);
    const heads = () => [40, 50, 50].map((length) => randn([2, length, 8]));
    const given = heads().map((t) => t.requiresGrad_());
    const saving = name === 'cpu' ? given : given.map((t) => onGpu(t).detach().requiresGrad_());
    f(...(saving as [Tensor, Tensor, Tensor])).dispose();
    const bytes = await save(f);
    const results = await Promise.all(
      ['cpu', gpu()].map(async (device) => {
        const program = await loadProgram(bytes, { device });
        const own = given.map((t) => t.to(device).detach().requiresGrad_());
        const loss = program(...own) as Tensor;
        loss.backward();
        return Promise.all([loss, ...own.map((t) => t.grad!)].map((t) => t.data()));
      }),
    );
    for (const [i, data] of results[0]!.entries()) close(results[1]![i]!, data);
    expectNothingOnCpu();
  });

  it('a step with max pooling, whose places are bytes on the CPU', async () => {
    seed(7);
    const net = new nn.Sequential(
      new nn.Conv2d(1, 4, 3),
      new nn.ReLU(),
      new nn.MaxPool2d(2),
      new nn.Flatten(),
      new nn.Linear(4 * 7 * 7, 3),
    );
    const step = toStatic((x: Tensor, labels: Tensor) => {
      const loss = crossEntropy(net.forward(x), labels);
      loss.backward();
      return loss.detach();
    }, full);
    const [x, labels] = [randn([8, 1, 16, 16]), tensor(new Int32Array(8))];
    const expected = tidy(() => step(x, labels).itemSync());
    net.zeroGrad();
    const bytes = await save(step);
    expect(step.programs()[0]!.stages!.passes.savedPlaces!.applied).toBe(1);
    const here = await loadProgram(bytes);
    const there = await loadProgram(bytes, { device: gpu() });
    expect((here(x, labels) as Tensor).itemSync()).toBe(expected);
    const loss = there(onGpu(x), onGpu(labels)) as Tensor;
    close([Number(await loss.item())], [expected]);
  });

  it('a training step with parameters and an optimizer in it trains on', async () => {
    seed(6);
    const weight = randn([3, 2]).requiresGrad_();
    const optimizer = new optim.SGD([weight], { lr: 0.1, momentum: 0.9 });
    const step = toStatic((x: Tensor) => {
      optimizer.zeroGrad();
      const loss = x.matmul(weight).square().mean();
      loss.backward();
      optimizer.step();
      return loss.detach();
    }, full);
    const x = randn([4, 3]);
    for (let i = 0; i < 3; i++) tidy(() => void step(x));
    const bytes = await save(step);
    const [there, here] = [await loadProgram(bytes, { device: gpu() }), await loadProgram(bytes)];
    for (let i = 0; i < 3; i++) {
      const [found, expected] = [there(onGpu(x)) as Tensor, here(x) as Tensor];
      close(await found.data(), expected.dataSync());
    }
  });

  it('for sizes that no call had, and back to the CPU', async () => {
    const f = toStatic((x: Tensor) => x.exp().sum(1).mul(x.shape[0]!).relu(), {
      ...full,
      inputSpec: [tensorSpec(['n', 3])],
    });
    tidy(() => void f(randn([2, 3])));
    const there = await loadProgram(await save(f), { device: gpu() });
    const x = randn([7, 3]);
    const y = there(onGpu(x)) as Tensor;
    close(await y.data(), (f(x) as Tensor).dataSync());
    const back = await loadProgram(await save(there), { device: 'cpu' });
    expect([...(back(x) as Tensor).dataSync()]).toEqual([...(f(x) as Tensor).dataSync()]);
  });

  it('a program with numbers that a GPU has no dtype for is refused by name', async () => {
    const f = toStatic((x: Tensor) => (x.sum().itemSync() > 0 ? x.mul(2) : x.neg()), full);
    tidy(() => void f(randn([2])));
    await expect(loadProgram(await save(f), { device: gpu() })).rejects.toThrow(DTypeError);
  });
});
