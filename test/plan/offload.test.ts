/** Saved values that leave for a file: fewer bytes are kept, and every bit is the same. */

import fs from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { deviceNamed } from '../../runtime/device/current.ts';
import { FileShelf } from '../../runtime/device/store/file-store.ts';
import { appliedTo } from '../../src/explain/applied.ts';
import {
  crossEntropy,
  type DType,
  dropout,
  gelu,
  grad,
  init,
  load,
  memory,
  nn,
  OutOfMemoryError,
  optim,
  randn,
  relu,
  save,
  seed,
  type Tensor,
  toStatic,
} from '../../src/index.ts';
import { measure } from '../run-program/memory-counter.ts';

await init('file');

type Loss = (x: Tensor) => Tensor;

const losses: Record<string, Loss> = {
  'functions of one another': (x) => x.tanh().exp().sin().mean(),
  'a value that is read in two shapes': (x) => {
    const y = x.tanh();
    return y.reshape([-1, 16]).pow(3).sum().add(y.sigmoid().mul(y).mean());
  },
  'dropout and products': (x) =>
    dropout(gelu(x.matmul(x.t())), 0.3)
      .matmul(x)
      .pow(2)
      .mean(),
  'a value that is returned too': (x) => x.exp().mul(2).exp().sum(),
};

const stored = () => memory.stats('file').allocated;

function outcome(fn: Loss, x: Tensor) {
  const once = () => {
    seed(5);
    return fn(x);
  };
  once().dispose();
  const { result, kept, peak } = measure(once);
  const inStore = stored();
  const backward = measure(() => void result.backward());
  const bits = [[...result.dataSync()], [...x.grad!.dataSync()]];
  result.dispose();
  x.grad!.dispose();
  x.grad = null;
  return { kept, peak, bits, inStore, backward: backward.peak };
}

describe('plan/offload', () => {
  for (const [name, run] of Object.entries(losses)) {
    it.each([
      ['float32', 32],
      ['float32', 96],
      ['float64', 48],
      ['bfloat16', 64],
    ] as const)(`${name}: %s, %i rows`, (dtype: DType, rows: number) => {
      seed(2);
      const x = randn([rows, 64], { dtype }).requiresGrad_();
      const f = toStatic(run, { memory: { offload: 'file' }, fallback: 'error' });
      const [plain, away] = [outcome(toStatic(run), x), outcome(f, x)];
      const part = f.programs()[0]!;
      const { forward, backward } = part.record.planned!;
      expect(appliedTo(part)!.offload).toBe(1);
      expect(away.bits).toEqual(plain.bits);
      // What has left the device is in the file, and is gone when backward has run.
      expect(away.kept).toBeLessThan(plain.kept);
      expect(away.inStore).toBeGreaterThan(0);
      expect(stored()).toBe(0);
      expect(away.peak).toBe(forward.predicted.peakBytes);
      expect(away.peak).toBeLessThanOrEqual(plain.peak);
      expect(away.backward).toBeLessThanOrEqual(backward!.plan.predicted.peakBytes);
      x.dispose();
    });
  }

  it('gradients of gradients read what has left', () => {
    const second = (fn: Loss) => {
      seed(2);
      using x = randn([32, 64]).requiresGrad_();
      using y = fn(x);
      const [first] = grad(y, [x], { createGraph: true });
      const [of] = grad(first!.pow(2).sum(), [x]);
      return [...of!.dataSync()];
    };
    const run = losses['functions of one another']!;
    const f = toStatic(run, { memory: { offload: 'file' } });
    expect(second(f)).toEqual(second(run));
    expect(appliedTo(f.programs()[0]!)!.offload).toBe(1);
    expect(stored()).toBe(0);
  });

  it('a graph that is kept reads it again, and one that is dropped frees it', () => {
    const run = losses['functions of one another']!;
    const f = toStatic(run, { memory: { offload: 'file' } });
    const x = randn([32, 64]).requiresGrad_();
    const y = f(x);
    expect(stored()).toBeGreaterThan(0);
    y.backward(undefined, { retainGraph: true });
    const first = [...x.grad!.dataSync()];
    x.grad!.dispose();
    x.grad = null;
    y.backward();
    expect([...x.grad!.dataSync()]).toEqual(first);
    expect(stored()).toBe(0);
    const again = f(x);
    expect(stored()).toBeGreaterThan(0);
    again.dispose();
    expect(stored()).toBe(0);
    for (const each of [y, x]) each.dispose();
  });

  it('a whole training step needs fewer bytes, and its model gets the same ones', () => {
    const train = (options: object) => {
      seed(4);
      const layers = Array.from({ length: 6 }, () => new nn.Linear(48, 48));
      const optimizer = new optim.AdamW(layers.flatMap((each) => [...each.parameters()]));
      const step = toStatic((x: Tensor, y: Tensor) => {
        const out = layers.reduce((h, layer) => relu(layer.forward(h)), x);
        const loss = crossEntropy(out, y);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      }, options);
      const [x, y] = [randn([128, 48]), randn([128]).gt(0).int()];
      const losses = [1, 2, 3].map(() => step(x, y).itemSync());
      const part = step.programs().at(-1)!;
      const { peakBytes } = part.record.planned!.forward.predicted;
      const { peak } = measure(() => step(x, y));
      const state = layers.map((each) => [...each.weight.dataSync()]);
      return { losses, state, peak, peakBytes, applied: appliedTo(part)!.offload };
    };
    const own = { slices: false };
    const plain = train({ memory: { ...own, prefer: 'bytes' } });
    const away = train({ memory: { ...own, offload: 'file' } });
    expect(away.losses).toEqual(plain.losses);
    expect(away.state).toEqual(plain.state);
    expect(away.applied).toBe(1);
    expect(away.peak).toBe(away.peakBytes);
    expect(away.peak).toBeLessThan(plain.peak);
    expect(stored()).toBe(0);
  });

  it('check mode compares it with the traced program', () => {
    const f = toStatic(losses['dropout and products']!, { memory: { offload: 'file' }, check: 3 });
    using x = randn([32, 64]).requiresGrad_();
    for (let i = 0; i < 3; i++) {
      f(x).backward();
      x.grad!.dispose();
      x.grad = null;
    }
    expect(f.stats().checks).toEqual({ runs: 3, backwards: 3 });
    expect(stored()).toBe(0);
  });

  it('names what is missing: a store that is ready, a GPU, a folder, room on the disk', async () => {
    const error = (offload: string) => () =>
      toStatic((x: Tensor) => x, { memory: { offload } as never });
    expect(error('disk')).toThrow(/not a store that is ready/);
    expect(error('host')).toThrow(/await init\('host'\)/);
    await init('host');
    using x = randn([32, 64]).requiresGrad_();
    const f = toStatic((y: Tensor) => y.tanh().exp().sum(), { memory: { offload: 'host' } });
    expect(() => f(x)).toThrow(/'host' } is for values of a GPU[\s\S]*init\('file'\)/);
    expect(() => new FileShelf('/no/such/folder')).toThrow(/no file for 'file' can be made/);
  });

  it('a full disk and a file that was cut short are named, and leave nothing behind', () => {
    using x = randn([64, 64]).requiresGrad_();
    const f = toStatic(losses['functions of one another']!, { memory: { offload: 'file' } });
    f(x).dispose();
    const before = memory.stats('cpu').allocated;
    const full = vi.spyOn(fs, 'writeSync').mockImplementation(() => {
      throw new Error('ENOSPC: no space left on device, write');
    });
    expect(() => f(x)).toThrow(OutOfMemoryError);
    expect(() => f(x)).toThrow(/can't be written to its file[\s\S]*ENOSPC[\s\S]*folder/);
    full.mockRestore();
    expect(stored()).toBe(0);
    expect(memory.stats('cpu').allocated).toBe(before);
    const loss = f(x);
    const cut = vi.spyOn(fs, 'readSync').mockReturnValue(0);
    expect(() => loss.backward()).toThrow(/cut short/);
    cut.mockRestore();
    loss.dispose();
    expect(stored()).toBe(0);
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('a saved program keeps its values on the device', async () => {
    seed(1);
    using x = randn([32, 64]).requiresGrad_();
    const f = toStatic(losses['functions of one another']!, { memory: { offload: 'file' } });
    using loss = f(x);
    const before = stored();
    const again = (await load(await save(f))) as typeof f;
    using other = again(x);
    expect(other.itemSync()).toBe(loss.itemSync());
    expect(stored()).toBe(before);
  });

  it('computes nothing there', () => {
    using x = randn([4]).to('file');
    expect(() => x.add(1)).toThrow(/computes nothing/);
    expect(deviceNamed('file').elementBytes('float32')).toBe(0);
    expect([...x.to('cpu').dataSync()]).toHaveLength(4);
  });
});
