/** Large programs begin with a plan that is soon there; the final one takes its place with the same bits. */

import { describe, expect, it, vi } from 'vitest';
import { SimulatedRun } from '../../runtime/run-program/simulate/simulated-run.ts';
import { Captured, type ToStaticOptions } from '../../src/dispatch/captured-function.ts';
import {
  breakGraph,
  crossEntropy,
  memory,
  nn,
  noGrad,
  optim,
  randn,
  refcounted,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import type { CompiledPart } from '../../src/programs/compiled-part.ts';

const bytesNow = () => memory.stats('cpu').allocated;

interface Training {
  readonly step: (x: Tensor) => Tensor;
  readonly x: Tensor;
  readonly parameters: () => number[][];
  readonly dispose: () => void;
}

/** A step of some hundred ops, in one piece or in two. */
function training({ breaks = false } = {}): Training {
  seed(3);
  const layers = Array.from({ length: 5 }, () => new nn.Linear(24, 24));
  const norm = new nn.LayerNorm(24);
  const last = new nn.Linear(24, 7);
  const parameters = [...layers, norm, last].flatMap((each) => [...each.parameters()]);
  const optimizer = new optim.AdamW(parameters, { lr: 0.01 });
  const labels = tensor(Int32Array.from({ length: 64 }, (_, i) => i % 7));
  const x = randn([64, 24]);
  const step = (batch: Tensor): Tensor => {
    let y = batch;
    for (const layer of layers) y = y.add(layer.forward(norm.forward(y)).tanh());
    if (breaks) breakGraph();
    const loss = crossEntropy(last.forward(y.mul(y.sigmoid())), labels);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  return {
    step,
    x,
    parameters: () => parameters.map((each) => [...each.dataSync()]),
    dispose: () => {
      optimizer.dispose();
      for (const each of [...parameters, labels, x]) each.dispose();
    },
  };
}

/** What one call needs beyond what was there, and what the plan in force says. */
function measured(captured: Captured, x: Tensor) {
  memory.reset('cpu');
  const before = bytesNow();
  const loss = captured.call(undefined, [x]) as Tensor;
  const peak = memory.stats('cpu').peakAllocated - before;
  const value = loss.itemSync();
  loss.dispose();
  return { value, peak, predicted: predictedOf(captured) };
}

const predictedOf = ({ parts }: Captured) =>
  Math.max(...parts.map(({ stages }) => stages!.planned.forward.predicted.peakBytes));

const capturedFor = ({ step }: Training, options: ToStaticOptions = {}) =>
  new Captured(step as Captured['fn'], options);

/** The losses and parameters of eager execution. */
function eagerly(calls: number, options?: Parameters<typeof training>[0]) {
  const own = training(options);
  const step = refcounted(own.step);
  const losses = Array.from({ length: calls }, () => {
    const loss = step(own.x);
    const value = loss.itemSync();
    loss.dispose();
    return value;
  });
  const parameters = own.parameters();
  own.dispose();
  return { losses, parameters };
}

describe('the plan of a large step', () => {
  it('is replaced after some runs, with the bits of eager execution and the bytes of each plan', () => {
    const before = bytesNow();
    const own = training();
    const captured = capturedFor(own);
    const losses: number[] = [];
    const first: boolean[] = [];
    while (losses.length < 70 || captured.parts[0]!.isFirst) {
      const { value, peak, predicted } = measured(captured, own.x);
      expect(peak).toBe(predicted);
      losses.push(value);
      first.push(captured.parts[0]!.isFirst);
    }
    expect(first[0]).toBe(true);
    // A script of fifty steps doesn't pay for the search.
    expect(first.indexOf(false)).toBeGreaterThan(64);
    expect({ losses, parameters: own.parameters() }).toEqual(eagerly(losses.length));
    expect(captured.stats().translations).toBe(1);
    own.dispose();
    expect(bytesNow()).toBe(before);
  });

  it('is final after ready(), with no more bytes, and the same as where there was no first one', async () => {
    const own = training();
    const captured = capturedFor(own);
    const before = measured(captured, own.x);
    await captured.ready();
    expect(captured.parts[0]!.isFirst).toBe(false);
    const after = measured(captured, own.x);
    expect(after.peak).toBe(after.predicted);
    expect(after.predicted).toBeLessThanOrEqual(before.predicted);
    const smallest = capturedFor(own, { memory: { prefer: 'bytes' } });
    expect(measured(smallest, own.x).predicted).toBeLessThanOrEqual(after.predicted);
    own.dispose();
  });

  it.each<[string, ToStaticOptions]>([
    ['a budget', { memory: { budget: 2 ** 30 } }],
    ["prefer: 'bytes'", { memory: { prefer: 'bytes' } }],
    ['nothing to search for', { memory: { order: false, simplify: false, slices: false } }],
  ])('is final from the first run on with %s', async (_, options) => {
    const own = training();
    const captured = capturedFor(own, options);
    const { predicted } = measured(captured, own.x);
    expect(captured.parts[0]!.isFirst).toBe(false);
    await captured.ready();
    expect(predictedOf(captured)).toBe(predicted);
    own.dispose();
  });

  it('is simulated when its bytes are first read, wherever that is', () => {
    const [own, other] = [training(), training()];
    const simulated = vi.spyOn(SimulatedRun.prototype, 'forward');
    const captured = capturedFor(own);
    const peaks = [0, 1].map(() => {
      memory.reset('cpu');
      const before = bytesNow();
      (captured.call(undefined, [own.x]) as Tensor).dispose();
      return memory.stats('cpu').peakAllocated - before;
    });
    expect(simulated).not.toHaveBeenCalled();
    const inside = { peak: 0 };
    memory.reset('cpu');
    const { peakAllocated } = memory.stats('cpu');
    tidy(() => noGrad(() => Object.assign(inside, { peak: predictedOf(captured) })));
    expect(memory.stats('cpu').peakAllocated).toBe(peakAllocated);
    expect(simulated).toHaveBeenCalledOnce();
    expect(inside.peak).toBe(peaks[1]);
    expect(measured(capturedFor(other), other.x).predicted).toBe(inside.peak);
    expect(predictedOf(captured)).toBe(inside.peak);
    simulated.mockRestore();
    own.dispose();
    other.dispose();
  });

  it('holds for each part of a broken graph', async () => {
    const own = training({ breaks: true });
    const captured = capturedFor(own);
    const losses: number[] = [];
    for (let i = 0; i < 4; i++) losses.push(measured(captured, own.x).value);
    await captured.ready();
    expect(captured.parts.every(({ isFirst }) => !isFirst)).toBe(true);
    for (let i = 0; i < 4; i++) losses.push(measured(captured, own.x).value);
    const expected = eagerly(8, { breaks: true });
    expect({ losses, parameters: own.parameters() }).toEqual(expected);
    own.dispose();
  });

  it('is checked like any other in check mode', async () => {
    const own = training();
    const captured = capturedFor(own, { check: 1 });
    measured(captured, own.x);
    await captured.ready();
    measured(captured, own.x);
    expect(captured.stats().checks.runs).toBe(2);
    own.dispose();
  });
});

it('a backward that began with the first plan ends with it', async () => {
  seed(1);
  const weight = randn([8, 8]).requiresGrad_();
  const deep = (x: Tensor): Tensor => {
    let y = x;
    for (let i = 0; i < 60; i++) y = y.matmul(weight).tanh();
    return y;
  };
  const f = toStatic(deep);
  const x = randn([4, 8]);
  const gradientBy = (run: (x: Tensor) => Tensor, between: () => Promise<void>) =>
    (async () => {
      const out = run(x).sum();
      await between();
      out.backward();
      const gradient = [...weight.grad!.dataSync()];
      weight.grad = null;
      return gradient;
    })();
  const expected = await gradientBy(deep, async () => {});
  const isFirst = () => (f.programs()[0] as CompiledPart).isFirst;
  const mixed = await gradientBy(f, async () => {
    expect(isFirst()).toBe(true);
    await f.ready();
    expect(isFirst()).toBe(false);
  });
  expect(mixed).toEqual(expected);
  expect(await gradientBy(f, async () => {})).toEqual(expected);
});

describe('toStatic.warmup', () => {
  it('compiles what the first call runs, and runs nothing', async () => {
    const own = training();
    const before = { parameters: own.parameters(), bytes: bytesNow() };
    const f = toStatic(own.step);
    await toStatic.warmup(f, own.x);
    expect({ parameters: own.parameters(), bytes: bytesNow() }).toEqual(before);
    expect(f.stats()).toMatchObject({ translations: 1, graphRuns: 0 });
    expect(f.programs()[0]!.isFirst).toBe(false);
    f(own.x).dispose();
    expect(f.stats()).toMatchObject({ translations: 1, graphRuns: 1 });
    own.dispose();
  });

  it('finds the receiver of a module', async () => {
    const model = toStatic(new nn.Linear(4, 2));
    const x = randn([3, 4]);
    await toStatic.warmup(model, x);
    model.forward(x).dispose();
    expect(model.stats()).toMatchObject({ translations: 1, graphRuns: 1 });
  });

  it('rejects what was not captured, and generator functions', async () => {
    await expect(toStatic.warmup(() => 1)).rejects.toThrow(/was not captured/);
    const values = toStatic(function* (x: Tensor) {
      yield x.add(1);
    });
    await expect(toStatic.warmup(values, randn([2]))).rejects.toThrow(/generator function/);
  });
});
