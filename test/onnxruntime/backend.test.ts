/** The backend of onnxruntime: results of the kernels but for the last digits, their bytes, and what it leaves to them. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  memory,
  nn,
  optim,
  randn,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { backendOver } from '../../src/onnxruntime/backend.ts';
import { onnxruntime, onnxruntimeBackend } from '../../src/onnxruntime/index.ts';
import type { OrtSession } from '../../src/onnxruntime/load-package.ts';
import { buildTraining, type TrainingCase } from '../training-steps/training-case.ts';
import { engines } from './engines.ts';
import { standIn } from './stand-in.ts';

const cases: readonly TrainingCase[] = [
  { module: 'Linear', optimizer: 'AdamW', seed: 901 },
  { module: 'Conv2d', optimizer: 'SGD', seed: 902 },
  { module: 'BatchNorm2d', optimizer: 'Adagrad', seed: 908 },
  { module: 'Dropout', optimizer: 'RMSprop', seed: 918 },
  { module: 'LayerNorm', optimizer: 'NAdam', seed: 920 },
  { module: 'Embedding', optimizer: 'Adam', seed: 907 },
];

const bytesNow = () => memory.stats('cpu').allocated;

/** Losses, parameters and peaks of some steps. */
function trained(given: TrainingCase, options: ToStaticOptions) {
  const training = buildTraining(given);
  const step = toStatic(training.step, options);
  const seen = [0, 1, 2, 3].map((i) => {
    const batch = training.batch(i);
    memory.reset('cpu');
    const before = bytesNow();
    const loss = step(...batch);
    const peak = memory.stats('cpu').peakAllocated - before;
    const value = loss.itemSync();
    for (const each of [loss, ...batch]) each.dispose();
    return { value, peak };
  });
  const parts = step.programs();
  const predicted = parts.map(({ stages }) => stages!.planned.forward.predicted.peakBytes);
  const isWhole = parts.length === 1 && step.stats().kernels.eager === 0;
  const parameters = training.optimizer.parameters.flatMap((own) => [...own.dataSync()]);
  training.optimizer.zeroGrad();
  for (const each of [...training.modules, training.optimizer]) each.dispose();
  return { seen, parameters, predicted: isWhole ? predicted[0]! : null };
}

const difference = (a: readonly number[], b: readonly number[]): number => {
  expect(a.length).toBe(b.length);
  return a.reduce(
    (most, x, i) => Math.max(most, Math.abs(x - b[i]!) / Math.max(1, Math.abs(x))),
    0,
  );
};

const folder = mkdtempSync(join(tmpdir(), 'tostatic-without-onnxruntime-'));
afterAll(() => rmSync(folder, { recursive: true }));
describe.each(engines)('programs of %s', (_name, { isApart, make }) => {
  it.each(cases)('train as the kernels do: $module with $optimizer', (given) => {
    const start = bytesNow();
    const expected = trained(given, { check: 0 });
    const backend = make();
    const found = trained(given, { backend, check: 0 });
    const losses = (of: typeof found) => of.seen.map(({ value }) => value);
    expect(difference(losses(expected), losses(found))).toBeLessThan(1e-4);
    expect(difference(expected.parameters, found.parameters)).toBeLessThan(1e-4);
    expect(backend.report().inGraphs).toBeGreaterThan(0);
    if (!isApart) return;
    if (found.predicted !== null) expect(found.seen.at(-1)!.peak).toBe(found.predicted);
    expect(bytesNow()).toBe(start);
  });

  it('see writes to views, and leave what has no form to the kernels', () => {
    const backend = make();
    const fn = (x: Tensor, target: Tensor) => {
      const y = x.mul(2);
      const part = y.narrow(0, 1, 2);
      part.add_(x.narrow(0, 0, 2));
      target.t().narrow(0, 0, 1).mul_(3);
      const places = part.sum(1).cumsum(0).cummax(0)[0];
      return y.exp().sum().add(places.sum());
    };
    const inputs = () => {
      const values = Float32Array.from({ length: 12 }, (_, i) => Math.sin(i));
      return [tensor(values, { shape: [4, 3] }), tensor(values, { shape: [4, 3] })] as const;
    };
    const [x, target] = inputs();
    const expected = fn(x, target).itemSync();
    const compiled = toStatic(fn, { fullGraph: true, backend, check: 0 });
    for (let i = 0; i < 3; i++) {
      const [own, written] = inputs();
      expect(compiled(own, written).itemSync()).toBeCloseTo(expected, 4);
      expect(difference([...written.dataSync()], [...target.dataSync()])).toBeLessThan(1e-6);
    }
    const { reasons, byKernels } = backend.report();
    expect(Object.keys(reasons)).toEqual([expect.stringContaining('cummax has no form in ONNX')]);
    expect(byKernels).toBe(Object.values(reasons).reduce((sum, count) => sum + count, 0));
  });

  it('run branches, loops and what backward saved', () => {
    const backend = make();
    const fn = (x: Tensor) => {
      let y = x;
      for (let i = 0; i < 4; i++) y = y.sum().itemSync() > 1 ? y.mul(0.5).tanh() : y.add(1).exp();
      return y.square().sum();
    };
    const gradient = (run: typeof fn) => {
      const x = tensor([0.3, -0.4, 0.2], { requiresGrad: true });
      const y = run(x);
      y.backward();
      return [y.itemSync(), ...x.grad!.dataSync()];
    };
    const expected = gradient(fn);
    const compiled = toStatic(fn, { fullGraph: true, backend, check: 0 });
    for (let i = 0; i < 3; i++) expect(difference(gradient(compiled), expected)).toBeLessThan(1e-5);
    expect(backend.report().graphs).toBeGreaterThan(2);
  });
});

describe('operands of a graph', () => {
  it('are given once, weights that it transposes too', () => {
    const fed: number[] = [];
    class Session extends standIn.session {
      override run(...[feeds, ...rest]: Parameters<OrtSession['run']>) {
        fed.push(...Object.values(feeds).map(({ data }) => data.byteLength / 4));
        return super.run(feeds, ...rest);
      }
    }
    const backend = backendOver(() => ({ ...standIn, session: Session }));
    const model = new nn.Sequential(new nn.Linear(6, 5), new nn.ReLU(), new nn.Linear(5, 4));
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const step = toStatic(
      (x: Tensor) => {
        const loss = model.forward(x.t()).square().mean();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { fullGraph: true, backend, check: 0 },
    );
    for (let i = 0; i < 3; i++) step(tensor(new Float32Array(18).fill(i), { shape: [6, 3] }));
    fed.length = 0;
    step(tensor(new Float32Array(18).fill(1), { shape: [6, 3] }));
    // The batch and four parameters.
    expect(fed.sort((a, b) => a - b)).toEqual([4, 5, 18, 20, 30]);
    model.dispose();
  });
});

describe('results of a graph', () => {
  it('are stored once for each tensor, however often it is written', () => {
    const fetched: string[][] = [];
    class Session extends standIn.session {
      override run(...[feeds, fetches, ...rest]: Parameters<OrtSession['run']>) {
        fetched.push(Object.keys(fetches));
        return super.run(feeds, fetches, ...rest);
      }
    }
    const backend = backendOver(() => ({ ...standIn, session: Session }));
    const fn = (x: Tensor, total: Tensor) => {
      for (let i = 0; i < 5; i++) total.mul_(0.5).add_(x.mul(i).tanh());
      return total.sum();
    };
    const compiled = toStatic(fn, { fullGraph: true, backend, check: 0 });
    const [x, own, expected] = [randn([4]), zeros([4]), zeros([4])];
    for (let i = 0; i < 3; i++) {
      expect(compiled(x, own).itemSync()).toBeCloseTo(fn(x, expected).itemSync(), 5);
      expect(difference([...own.dataSync()], [...expected.dataSync()])).toBeLessThan(1e-6);
    }
    // The total, and its sum.
    expect(fetched.at(-1)).toHaveLength(2);
  });
});

describe('views of one tensor', () => {
  it.each(engines)('are read after writes through each other on %s', (_name, { make }) => {
    const fn = (w: Tensor, x: Tensor) => {
      const [row, turned] = [w.narrow(0, 1, 1), w.t()];
      row.mul_(2).add_(x);
      const seen = turned.mul(x.t()).sum(1);
      turned.narrow(0, 0, 1).sub_(1);
      return seen.add(row.sum());
    };
    const inputs = () => [tensor([1, 2, 3, 4], { shape: [2, 2] }), tensor([5, -6])] as const;
    const compiled = toStatic(fn, { fullGraph: true, backend: make(), check: 0 });
    const [w, x] = inputs();
    for (let i = 0; i < 3; i++) {
      const [own, other] = inputs();
      expect([...compiled(own, other).dataSync()]).toEqual([...fn(w, x).dataSync()]);
      expect([...own.dataSync()]).toEqual([...w.dataSync()]);
      w.copy_(inputs()[0]);
    }
  });
});

describe('an addon that runs graphs in another thread', () => {
  it('is refused by name', () => {
    class Session extends standIn.session {
      override run(): Promise<never> {
        return Promise.reject(new Error('too late'));
      }
    }
    const backend = backendOver(() => ({ ...standIn, session: Session }));
    const double = toStatic((x: Tensor) => x.mul(2), { backend, check: 0 });
    expect(() => double(tensor([1]))).toThrow('onnxruntime-node that runs graphs synchronously');
  });
});

describe('without the package', () => {
  it('the error names the command that installs it', () => {
    const backend = onnxruntimeBackend({ folder });
    const f = toStatic((x: Tensor) => x.add(1), { backend });
    expect(() => f(tensor([1]))).toThrow('npm install onnxruntime-node');
  });

  it('importing the entry registers the name', () => {
    expect(onnxruntime.name).toBe('onnxruntime');
    expect(() => toStatic((x: Tensor) => x.add(1), { backend: 'onnxruntime' })).not.toThrow();
  });
});
