/** Results that onnxruntime-web leaves in GPU buffers: state goes from step to step there, and is read when asked for. */

import { describe, expect, it } from 'vitest';
import {
  crossEntropy,
  DeviceError,
  memory,
  nn,
  noGrad,
  optim,
  randint,
  randn,
  seed,
  type Tensor,
  tensor,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { onnxruntimeWebBackend } from '../../src/onnxruntime/web.ts';
import { StandInGpu } from './web-stand-in.ts';

const session = { preferredOutputLocation: 'gpu-buffer' };
const numbers = async (x: Tensor) => [...(await x.data())];

function close(found: readonly number[], expected: readonly number[]): void {
  expect(found.length).toBe(expected.length);
  for (const [i, value] of found.entries()) expect(value).toBeCloseTo(expected[i]!, 4);
}

function classifier() {
  seed(5);
  const model = new nn.Sequential(new nn.Linear(6, 8), new nn.GELU(), new nn.Linear(8, 3));
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
  const step = (x: Tensor, y: Tensor): Tensor => {
    const loss = crossEntropy(model.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const batches = Array.from({ length: 6 }, () => [randn([5, 6]), randint(0, 3, [5])] as const);
  return { model, optimizer, step, batches };
}

function onGpu() {
  const gpu = new StandInGpu();
  const backend = onnxruntimeWebBackend(gpu.ort, { session });
  return { gpu, backend };
}

describe('state in GPU buffers', () => {
  it('stays there from step to step: only batches are written, and only losses read', async () => {
    const { gpu, backend } = onGpu();
    const [own, eager] = [classifier(), classifier()];
    const step = toStatic(async (x: Tensor, y: Tensor) => own.step(x, y), { backend, check: 0 });
    const expected = eager.batches.map(([x, y]) => eager.step(x, y).itemSync() as number);
    const losses: number[] = [];
    for (const [i, [x, y]] of own.batches.entries()) {
      [gpu.uploads, gpu.downloads] = [[], 0];
      const loss = await step(x, y);
      losses.push(await loss.item());
      loss.dispose();
      if (i < 2) continue;
      // The batch and its labels, for each graph that reads them, and numbers of the step.
      expect([...new Set(gpu.uploads)].sort((a, b) => a - b)).toEqual([1, 5, 30]);
      expect(gpu.downloads).toBe(1);
    }
    close(losses, expected);
    expect(step.stats()).toMatchObject({ breaks: [], fallbacks: [], kernels: { eager: 0 } });
    const state = own.model.parameters().reduce((sum, each) => sum + each.numel() * 4, 0);
    // Parameters and both moments of AdamW.
    expect(backend.report().arrays.onGpu).toBe(3 * state);
    for (const [i, parameter] of own.model.parameters().entries()) {
      close(await numbers(parameter), [...eager.model.parameters()[i]!.dataSync()]);
    }
    // Reads have moved nothing.
    expect(backend.report().arrays.onGpu).toBe(3 * state);
  });

  it('leaves no buffer behind', async () => {
    const { gpu, backend } = onGpu();
    const { model, optimizer, step, batches } = classifier();
    const compiled = toStatic(async (x: Tensor, y: Tensor) => step(x, y), { backend, check: 0 });
    const counts: number[] = [];
    for (const [x, y] of batches) {
      (await compiled(x, y)).dispose();
      counts.push(gpu.live.size);
    }
    expect(new Set(counts.slice(1)).size).toBe(1);
    for (const each of [model, optimizer, ...batches.flat()]) each.dispose();
    expect(gpu.live.size).toBe(0);
    expect(backend.report().arrays).toMatchObject({ inUse: 0, onGpu: 0 });
  });

  it('is a named error where something cannot wait, which changes nothing', async () => {
    const { gpu, backend } = onGpu();
    const w = tensor([1, 2, 3]);
    const step = toStatic(async (x: Tensor) => w.mul_(0.5).add_(x).sum(), { backend, check: 0 });
    const x = tensor([1, 1, 1]);
    for (let i = 0; i < 3; i++) (await step(x)).dispose();
    const uses = [
      () => w.dataSync(),
      () => w.mul(2),
      () => w.mul_(2),
      () => w.tolist(),
      () => w.clone(),
    ];
    for (const use of uses) {
      expect(use).toThrow(DeviceError);
      expect(use).toThrow('await');
    }
    const result = await step(x);
    close(await numbers(w), [1.9375, 2, 2.0625]);
    close(await numbers(result), [6]);
    expect(gpu.downloads).toBe(2);
    // A view, and a part, of what lies there.
    close(await numbers(w.narrow(0, 1, 2)), [2, 2.0625]);
    close(await numbers(w.reshape([3, 1]).t()), [1.9375, 2, 2.0625]);
    await backend.land();
    expect(backend.report().arrays.onGpu).toBe(0);
    expect([...w.mul(2).dataSync()]).toEqual([3.875, 4, 4.125]);
    // And back again.
    (await step(x)).dispose();
    expect(backend.report().arrays.onGpu).toBe(12);
    close(await numbers(w), [1.96875, 2, 2.03125]);
  });

  it('comes home within a run for kernels, and for parts of tensors', async () => {
    const { gpu, backend } = onGpu();
    const make = () => [zeros([3, 2]), tensor([3, 1, 2])] as const;
    const stepOf =
      ([total, v]: ReturnType<typeof make>) =>
      (x: Tensor) => {
        total.add_(x);
        // Not in ONNX: by a kernel, which reads what a graph has made.
        const found = total.add(v.unsqueeze(1)).cummax(0)[0];
        total.narrow(0, 1, 1).mul_(0.5);
        v.add_(found.sum(1).mul(0.01));
        return found.add(v.select(0, 2)).sum();
      };
    const [own, other] = [make(), make()];
    const [run, eager] = [stepOf(own), stepOf(other)];
    const step = toStatic(async (x: Tensor) => run(x), { backend, check: 0, fullGraph: true });
    for (let i = 0; i < 5; i++) {
      const x = tensor([1, i, -1, 0.5, 2, i], { shape: [3, 2] });
      const [loss, expected] = noGrad(() => [step(x), eager(x)] as const);
      close([await (await loss).item()], [expected.itemSync() as number]);
    }
    expect(backend.report().byKernels).toBeGreaterThan(0);
    expect(gpu.downloads).toBeGreaterThan(5);
    for (const [i, each] of own.entries()) close(await numbers(each), [...other[i]!.dataSync()]);
  });

  it('comes home before a run that may have to restore it', async () => {
    const { backend } = onGpu();
    const w = tensor([1, 2, 3, 4, 5, 6], { shape: [3, 2] });
    // An index outside of the tensor gives the run up after the write.
    const pick = toStatic(async (at: Tensor) => w.mul_(0.5).indexSelect(0, at).sum(), {
      backend,
      check: 0,
    });
    const at = (index: number) => tensor([index], { dtype: 'int32' });
    for (const expected of [3.5, 1.75, 0.875]) {
      close([await (await pick(at(1))).item()], [expected]);
    }
    // As in eager execution, which throws after the write.
    await expect(pick(at(7))).rejects.toThrow();
    close(
      await numbers(w),
      [1, 2, 3, 4, 5, 6].map((value) => value / 16),
    );
  });

  it('is read as it was when the read began', async () => {
    const { backend } = onGpu();
    const w = tensor([1, 2]);
    const step = toStatic(async () => w.mul_(2).sum(), { backend, check: 0 });
    for (let i = 0; i < 2; i++) (await step()).dispose();
    const before = w.data();
    const next = step();
    expect([...(await before)]).toEqual([4, 8]);
    (await next).dispose();
    const last = w.data();
    w.dispose();
    expect([...(await last)]).toEqual([8, 16]);
    expect(backend.report().arrays.onGpu).toBe(0);
  });

  it('keeps the bytes of the plan', async () => {
    const { backend } = onGpu();
    const { step, batches } = classifier();
    const compiled = toStatic(async (x: Tensor, y: Tensor) => step(x, y), { backend, check: 0 });
    for (const [x, y] of batches) (await compiled(x, y)).dispose();
    const before = memory.stats('cpu').allocated;
    for (const [x, y] of batches) (await compiled(x, y)).dispose();
    expect(memory.stats('cpu').allocated).toBe(before);
  });
});
