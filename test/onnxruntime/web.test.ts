/** Graphs that run later: async functions on onnxruntime-web, or on a stand-in that answers after a task. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { events } from '../../runtime/memory/events.ts';
import {
  ArgumentError,
  breakGraph,
  crossEntropy,
  memory,
  nn,
  optim,
  randint,
  randn,
  seed,
  type Tensor,
  tensor,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { type OnnxruntimeWeb, onnxruntimeWebBackend } from '../../src/onnxruntime/web.ts';
import { npmPackage } from '../export/npm-package.ts';
import { withInterop } from '../export/python.ts';
import { standInFor, task } from './web-stand-in.ts';

const installed = withInterop("the backend 'onnxruntime-web' with its package", () =>
  npmPackage('onnxruntime-web@1.30.0'),
);
const packaged =
  installed &&
  ((await import(pathToFileURL(join(installed, 'dist/ort.node.min.mjs')).href)) as OnnxruntimeWeb);

const packages = [
  ['a stand-in for onnxruntime-web', standInFor()] as const,
  ...(packaged ? [['onnxruntime-web', packaged] as const] : []),
];

const bytesNow = () => memory.stats('cpu').allocated;

function digits(modules: () => nn.Sequential, batch: () => Tensor) {
  seed(5);
  const model = modules();
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
  const step = (x: Tensor, y: Tensor): Tensor => {
    const loss = crossEntropy(model.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const batches = Array.from({ length: 4 }, () => [batch(), randint(0, 3, [4])] as const);
  const parameters = () => [...model.parameters()].flatMap((own) => [...own.dataSync()]);
  const dispose = () => {
    for (const each of [model, optimizer, ...batches.flat()]) each.dispose();
  };
  return { step, batches, parameters, dispose };
}

const models = {
  MLP: () =>
    digits(
      () => new nn.Sequential(new nn.Linear(6, 8), new nn.GELU(), new nn.Linear(8, 3)),
      () => randn([4, 6]),
    ),
  ConvNet: () =>
    digits(
      () =>
        new nn.Sequential(
          // A bias before batch norm has no gradient but noise, which Adam makes steps of.
          ...[
            new nn.Conv2d(1, 4, 3, { padding: 1, bias: false }),
            new nn.BatchNorm2d(4),
            new nn.ReLU(),
          ],
          ...[new nn.MaxPool2d(2), new nn.Flatten(), new nn.Linear(36, 3)],
        ),
      () => randn([4, 1, 6, 6]),
    ),
};

const close = (a: readonly number[], b: readonly number[]): void => {
  expect(a).toHaveLength(b.length);
  const error = a.map((x, i) => Math.abs(x - b[i]!) / Math.max(1, Math.abs(x)));
  expect(Math.max(...error)).toBeLessThan(1e-4);
};

describe.each(packages)('async functions on %s', (engine, ort) => {
  it.each(Object.entries(models))('train as the kernels do: %s', async (_name, make) => {
    const eager = make();
    const expected = eager.batches.map(([x, y]) => eager.step(x, y).itemSync());
    const start = bytesNow();
    const own = make();
    const backend = onnxruntimeWebBackend(ort);
    const step = toStatic(async (x: Tensor, y: Tensor) => own.step(x, y), { backend, check: 0 });
    const losses: number[] = [];
    for (const [x, y] of own.batches) {
      const loss = await step(x, y);
      losses.push(loss.itemSync());
      loss.dispose();
    }
    close(losses, expected);
    close(own.parameters(), eager.parameters());
    const { graphs, inGraphs, byKernels } = backend.report();
    expect(graphs).toBeGreaterThan(0);
    // The stand-in has no convolutions of gradients.
    if (engine === 'onnxruntime-web') expect(byKernels).toBe(0);
    else expect(inGraphs).toBeGreaterThan(0);
    expect(step.stats()).toMatchObject({ breaks: [], fallbacks: [], kernels: { eager: 0 } });
    if (engine === 'onnxruntime-web') {
      const [part] = step.programs();
      const { peakBytes } = part!.stages!.planned.forward.predicted;
      expect(part!.record.peakBytes).toBe(peakBytes);
    }
    own.dispose();
    // The stand-in computes in the same memory.
    if (engine === 'onnxruntime-web') expect(bytesNow()).toBeLessThanOrEqual(start);
    eager.dispose();
  });

  it('keep their state in the arrays of the engine', async () => {
    const own = models.MLP();
    const backend = onnxruntimeWebBackend(ort);
    const step = toStatic(async (x: Tensor, y: Tensor) => own.step(x, y), { backend, check: 0 });
    const copied: string[] = [];
    const stop = events.subscribe((event) => {
      if (event.kind === 'copy' && [event.from, event.to].includes('onnxruntime')) {
        copied.push(`${event.bytes} from ${event.from}`);
      }
    });
    try {
      for (const [x, y] of own.batches) {
        copied.length = 0;
        (await step(x, y)).dispose();
      }
    } finally {
      stop();
    }
    // The batch, for each graph that reads it.
    expect([...new Set(copied)].sort()).toEqual(['16 from cpu', '96 from cpu']);
    const eager = models.MLP();
    for (const [x, y] of eager.batches) eager.step(x, y).dispose();
    close(own.parameters(), eager.parameters());
    own.dispose();
    eager.dispose();
  });

  it('go on behind awaits and graph breaks, and backward outside is done by kernels', async () => {
    const backend = onnxruntimeWebBackend(ort);
    const fn = async (x: Tensor) => {
      const y = x.mul(2).tanh();
      await task();
      const z = y.exp().add(x);
      breakGraph();
      return z.square().sum();
    };
    const gradient = async (run: typeof fn) => {
      const x = tensor([0.3, -0.4, 0.2], { requiresGrad: true });
      const y = await run(x);
      y.backward();
      return [y.itemSync(), ...x.grad!.dataSync()];
    };
    const expected = await gradient(fn);
    const compiled = toStatic(fn, { backend, check: 0 });
    for (let i = 0; i < 3; i++) close(await gradient(compiled), expected);
    expect(backend.report().graphs).toBe(3);
  });

  it('run one after the other: calls that are begun together see what earlier ones wrote', async () => {
    const backend = onnxruntimeWebBackend(ort);
    const total = zeros([3]);
    let calls = 0;
    const fn = async (x: Tensor) => {
      calls += 1;
      total.mul_(0.5).add_(x.mul(calls));
      return total.sum();
    };
    const compiled = toStatic(fn, { backend, check: 0 });
    const inputs = [1, 2, 3, 4].map((k) => tensor([k, k, k]));
    const results = await Promise.all(inputs.map((x) => compiled(x)));
    const expected: number[] = [];
    for (let sum = 0, k = 1; k <= 4; k++) {
      sum = sum * 0.5 + 3 * k * k;
      expected.push(sum);
    }
    close(
      results.map((each) => each.itemSync()),
      expected,
    );
  });

  it('leave branches and loops of a graph to the kernels', async () => {
    const backend = onnxruntimeWebBackend(ort);
    const fn = async (x: Tensor) => {
      let y = x.mul(3);
      while (y.sum().itemSync() > 1) y = y.mul(0.5);
      return y.tanh().sum();
    };
    const compiled = toStatic(fn, { fullGraph: true, backend, check: 0 });
    for (const k of [1, 5, 20]) {
      const x = tensor([k, k + 1]);
      close([(await compiled(x)).itemSync()], [(await fn(x)).itemSync()]);
    }
    expect(Object.keys(backend.report().reasons)).toContainEqual(
      expect.stringContaining('branches and loops'),
    );
  });
});

describe('what goes wrong', () => {
  const backend = onnxruntimeWebBackend(standInFor());

  it('a function that returns at once is refused by name', () => {
    const double = toStatic((x: Tensor) => x.mul(2), { backend });
    expect(() => double(tensor([1]))).toThrow(ArgumentError);
    expect(() => double(tensor([1]))).toThrow(
      "the backend 'onnxruntime-web' runs graphs asynchronously",
    );
    const numbers = toStatic(
      function* (x: Tensor) {
        yield x.mul(2);
      },
      { backend },
    );
    expect(() => numbers(tensor([1]))).toThrow('an async function');
  });

  it('check mode beside it is refused', () => {
    expect(() => toStatic(async (x: Tensor) => x.mul(2), { backend, check: 1 })).toThrow(
      "check mode does not await the backend 'onnxruntime-web'",
    );
  });

  it('something else than the package is refused', () => {
    expect(() => onnxruntimeWebBackend({} as OnnxruntimeWeb)).toThrow('not the package');
  });

  it('an engine that fails rejects the call, leaves nothing, and the next call runs', async () => {
    let fails = false;
    const failing = onnxruntimeWebBackend(
      standInFor(() => {
        if (fails) throw new Error('the device is lost');
      }),
    );
    const step = toStatic(async (x: Tensor) => x.mul(2).exp(), { backend: failing, check: 0 });
    const x = tensor([1, 2]);
    (await step(x)).dispose();
    const before = bytesNow();
    fails = true;
    await expect(step(x)).rejects.toThrow('the device is lost');
    expect(bytesNow()).toBe(before);
    fails = false;
    close([...(await step(x)).dataSync()], [Math.exp(2), Math.exp(4)]);
  });
});
