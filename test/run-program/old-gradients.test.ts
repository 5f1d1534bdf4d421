/** A step that begins with `zeroGrad()`: the memory of the old gradients serves the new ones. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { predictedPeak } from '../../src/explain/predicted-peak.ts';
import {
  cond,
  crossEntropy,
  full,
  memory,
  nn,
  ones,
  optim,
  randint,
  randn,
  refcounted,
  type StaticFunction,
  seed,
  type Tensor,
  type ToStaticOptions,
  tidy,
  toStatic,
} from '../../src/index.ts';
import type { RunRecord } from '../../src/programs/compiled-part.ts';
import { bytesNow } from './memory-counter.ts';

let before = 0;
beforeEach(() => {
  before = bytesNow();
});
afterEach(() => {
  expect(bytesNow()).toBe(before);
});

type Step = (x: Tensor, y: Tensor) => Tensor;

interface Training {
  readonly model: nn.Sequential;
  readonly step: Step;
  readonly dispose: () => void;
}

type MakeOptimizer = (parameters: Tensor[]) => optim.SGD | optim.Adam | optim.RMSprop;

const optimizers: Readonly<Record<string, MakeOptimizer>> = {
  SGD: (parameters) => new optim.SGD(parameters, { lr: 0.1 }),
  'SGD with momentum': (parameters) => new optim.SGD(parameters, { lr: 0.1, momentum: 0.9 }),
  Adam: (parameters) => new optim.Adam(parameters, { lr: 0.01 }),
  RMSprop: (parameters) => new optim.RMSprop(parameters, { lr: 0.01 }),
};

function training(width: number, makeOptimizer: MakeOptimizer): Training {
  seed(1);
  const model = new nn.Sequential(
    new nn.Linear(width, 2 * width),
    new nn.ReLU(),
    new nn.Linear(2 * width, 5),
  );
  const optimizer = makeOptimizer([...model.parameters()]);
  return {
    model,
    step: (x, y) => {
      optimizer.zeroGrad();
      const loss = crossEntropy(model.forward(x), y);
      loss.backward();
      optimizer.step();
      return loss;
    },
    dispose: () => {
      optimizer.zeroGrad();
      optimizer.dispose();
      for (const parameter of model.parameters()) parameter.dispose();
    },
  };
}

function trained(run: Step, x: Tensor, y: Tensor) {
  const losses: number[] = [];
  const step = () => {
    const loss = run(x, y);
    losses.push(loss.itemSync() as number);
    loss.dispose();
  };
  for (let i = 0; i < 3; i++) step();
  memory.reset();
  const held = bytesNow();
  step();
  const { peakAllocated } = memory.stats();
  return { losses, above: peakAllocated - held };
}

function lastRun(f: StaticFunction<Step>): RunRecord {
  return f.programs().findLast(({ stages }) => stages !== null)!.record;
}

describe('run-program/old-gradients', () => {
  for (const [name, make] of Object.entries(optimizers)) {
    for (const [batch, width] of [
      [4, 8],
      [32, 16],
      [7, 33],
    ] as const) {
      it(`are freed before the run: ${name}, batch ${batch}, width ${width}`, () => {
        const [x, y] = [randn([batch, width]), randint(0, 5, [batch])];
        const [eager, compiled, kept] = [1, 2, 3].map(() => training(width, make));
        const baseline = trained(refcounted(eager!.step), x, y);
        const f = toStatic(compiled!.step, { memory: { prefer: 'bytes' } });
        const measured = trained(f, x, y);
        const without = trained(
          toStatic(kept!.step, { memory: { prefer: 'bytes', donate: false } }),
          x,
          y,
        );
        const record = lastRun(f);
        const gradients = [...compiled!.model.parameters()].map(
          ({ grad }) => 64 * Math.ceil(grad!.nbytes / 64),
        );
        expect(record.releasedBytes).toBe(gradients.reduce((sum, bytes) => sum + bytes, 0));
        expect(measured.losses).toEqual(baseline.losses);
        expect(without.losses).toEqual(baseline.losses);
        const above = Math.max(0, predictedPeak(record)! - record.releasedBytes);
        expect(measured.above).toBe(above);
        expect(measured.above).toBeLessThanOrEqual(baseline.above);
        expect(measured.above).toBeLessThan(without.above);
        for (const each of [eager!, compiled!, kept!]) each.dispose();
        x.dispose();
        y.dispose();
      });
    }
  }

  it('are not freed before the run when an op reads them', () => {
    seed(1);
    const w = randn([64]).requiresGrad_();
    const f = toStatic((x: Tensor) => {
      const norm = w.grad ? w.grad.norm() : x.sum();
      w.grad?.dispose();
      w.grad = null;
      w.mul(x).sum().backward();
      return norm;
    });
    const x = randn([64]);
    const norms: number[] = [];
    for (let i = 0; i < 3; i++) {
      const norm = f(x);
      norms.push(norm.itemSync() as number);
      norm.dispose();
    }
    expect(lastRun(f).releasedBytes).toBe(0);
    const expected = x.norm();
    expect(norms.slice(1)).toEqual([expected.itemSync(), expected.itemSync()]);
    for (const tensor of [expected, x, w.grad!, w]) tensor.dispose();
  });

  it('stay where a view has a share in their memory', () => {
    seed(1);
    const w = randn([4, 8]).requiresGrad_();
    const f = toStatic((x: Tensor) => {
      w.grad?.dispose();
      w.grad = null;
      const loss = w.mul(x).sum();
      loss.backward();
      return loss;
    });
    const x = randn([4, 8]);
    f(x).dispose();
    f(x).dispose();
    const row = w.grad!.select(0, 1);
    const values = row.tolist();
    f(x).dispose();
    expect(lastRun(f).releasedBytes).toBe(0);
    expect(row.tolist()).toEqual(values);
    for (const tensor of [row, x, w.grad!, w]) tensor.dispose();
  });

  it('are gone after a run that is refused, as in eager execution', () => {
    const outcome = (capture: boolean) => {
      const { model, step, dispose } = training(8, optimizers['SGD']!);
      const captured = capture ? toStatic(step) : step;
      const run: Step = (x, y) => tidy(() => captured(x, y));
      const [x, y, wrong] = [randn([3, 8]), randint(0, 5, [3]), randint(5, 9, [3])];
      for (let i = 0; i < 3; i++) run(x, y).dispose();
      let message = '';
      try {
        run(x, wrong).dispose();
      } catch (error) {
        message = String(error).split('\n')[0]!;
      }
      const gradients = [...model.parameters()].map(({ grad }) => grad);
      const after = run(x, y);
      const loss = after.itemSync();
      for (const tensor of [after, x, y, wrong]) tensor.dispose();
      dispose();
      return { message, gradients, loss };
    };
    seed(2);
    const eager = outcome(false);
    seed(2);
    expect(outcome(true)).toEqual(eager);
    expect(eager.message).not.toBe('');
    expect(eager.gradients).toEqual([null, null, null, null]);
  });

  const failures: Readonly<Record<string, (x: Tensor, y: Tensor) => Tensor>> = {
    'an op rejects its operands': (x, y) => crossEntropy(x, y),
    'a check fails': (x, y) => {
      if ((y.max().itemSync() as number) > 4) throw new RangeError('no such class');
      return crossEntropy(x, y);
    },
  };
  for (const [how, lossOf] of Object.entries(failures)) {
    it(`leave no handle without memory where ${how} before they are freed`, () => {
      const modes: ToStaticOptions[] = [{}, { fullGraph: true }, { capture: 'auto' }];
      for (const options of modes) {
        const { model, dispose } = training(8, optimizers['SGD']!);
        const optimizer = new optim.SGD([...model.parameters()], { lr: 0.1 });
        const f = toStatic((x: Tensor, y: Tensor) => {
          const loss = lossOf(model.forward(x), y);
          optimizer.zeroGrad();
          loss.backward();
          optimizer.step();
          return loss;
        }, options);
        const run: Step = (x, y) => tidy(() => f(x, y));
        const [x, y, wrong] = [randn([3, 8]), randint(0, 5, [3]), randint(5, 9, [3])];
        for (let i = 0; i < 3; i++) run(x, y).dispose();
        expect(() => run(x, wrong)).toThrow(/label|class/);
        const after = [...model.parameters()].map(({ grad }) => grad?.disposed ?? null);
        expect(after.filter((disposed) => disposed === true)).toEqual([]);
        // Code outside may go on with what there is: here it adds to it.
        tidy(() => crossEntropy(model.forward(x), y).backward());
        run(x, y).dispose();
        for (const each of [x, y, wrong]) each.dispose();
        optimizer.zeroGrad();
        dispose();
      }
    });
  }

  const indexed: Readonly<Record<string, (scores: Tensor, y: Tensor) => Tensor>> = {
    'a label': (scores, y) => crossEntropy(scores, y),
    'a label of a view': (scores, y) => crossEntropy(scores, y.reshape([3, 1]).reshape([3])),
    'an index': (scores, y) => scores.indexSelect(1, y).square().sum(),
    'an index of a gather': (scores, y) => scores.gather(1, y.unsqueeze(1)).square().sum(),
    'a label on one path': (scores, y) =>
      cond(
        scores.sum().isfinite(),
        (given) => crossEntropy(given, y),
        (given) => given.sum(),
        [scores],
      ),
  };
  it.each(Object.entries(indexed))('are kept where %s is rejected before', (_, lossOf) => {
    const outcome = (options: ToStaticOptions | null) => {
      seed(3);
      const { model, dispose } = training(8, optimizers['SGD']!);
      const optimizer = new optim.SGD([...model.parameters()], { lr: 0.1 });
      const step: Step = (x, y) => {
        const loss = lossOf(model.forward(x), y);
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        return loss;
      };
      const captured = options ? toStatic(step, options) : step;
      const [x, y, wrong] = [randn([3, 8]), randint(2, 5, [3]), randint(5, 9, [3])];
      const run = (labels: Tensor) => tidy(() => captured(x, labels)).dispose();
      for (let i = 0; i < 3; i++) run(y);
      const released = options ? lastRun(captured as StaticFunction<Step>).releasedBytes : null;
      expect(() => run(wrong)).toThrow();
      const gradients = [...model.parameters()].map(({ grad }) => grad?.toArraySync() ?? null);
      run(y);
      const weights = [...model.parameters()].map((each) => each.toArraySync());
      for (const each of [x, y, wrong]) each.dispose();
      optimizer.zeroGrad();
      dispose();
      return { gradients, weights, released };
    };
    const eager = outcome(null);
    expect(eager.gradients.every((gradient) => gradient)).toBe(true);
    for (const options of [{}, { fullGraph: true }]) {
      const found = outcome(options);
      expect(found.released).toBeGreaterThan(0);
      expect({ ...found, released: null }).toEqual(eager);
    }
  });

  it('are freed before a run that overwrites its labels by ones in range', () => {
    const { model, dispose } = training(8, optimizers['SGD']!);
    const optimizer = new optim.SGD([...model.parameters()], { lr: 0.1 });
    const f = toStatic((x: Tensor, y: Tensor) => {
      optimizer.zeroGrad();
      const loss = crossEntropy(model.forward(x), y.remainder_(5));
      loss.backward();
      optimizer.step();
      return loss;
    });
    for (let i = 0; i < 4; i++) {
      const [x, y] = [randn([3, 8]), randint(5, 9, [3])];
      tidy(() => f(x, y)).dispose();
      if (i > 1) expect(lastRun(f).releasedBytes).toBeGreaterThan(0);
      for (const each of [x, y]) each.dispose();
    }
    optimizer.zeroGrad();
    dispose();
  });

  /** Steps in which a decision on values stands before or after what frees the gradients. */
  const deciding: Readonly<Record<string, (step: Step, free: () => void) => Step>> = {
    'a path without a step': (step, free) => (x, y) => {
      if ((x.sum().itemSync() as number) < 0) {
        try {
          return x.add(y.reshape([-1, 5])).sum();
        } catch {
          return x.sum();
        }
      }
      free();
      return step(x, y);
    },
    'a kernel that rejects its values, caught': (step, free) => (x, y) => {
      let label: Tensor;
      try {
        label = crossEntropy(x, x.select(1, 0).add(2).to('int32'));
      } catch {
        return x.sum();
      }
      free();
      return step(x, y).add(label);
    },
    'an error before': (step, free) => (x, y) => {
      if ((x.sum().itemSync() as number) < 0) throw new RangeError('negative');
      free();
      return step(x, y);
    },
    'an error behind': (step, free) => (x, y) => {
      free();
      const loss = step(x, y);
      if ((x.sum().itemSync() as number) < 0) throw new RangeError('negative');
      return loss;
    },
  };
  for (const [what, decide] of Object.entries(deciding)) {
    it(`are there after every call as in eager execution: ${what}`, () => {
      const outcome = (options: ToStaticOptions | null) => {
        seed(3);
        const w = randn([4, 5]).requiresGrad_();
        const free = () => {
          w.grad?.dispose();
          w.grad = null;
        };
        const step = decide((x, y) => {
          const loss = w.mul(x).sub(y).square().sum();
          loss.backward();
          return loss.detach();
        }, free);
        const run = options ? toStatic(step, { strict: true, ...options }) : step;
        const [y, ...inputs] = [
          ones([5]),
          ...[1, 2, -1, 3, -2, 4].map((sign) => full([4, 5], sign)),
        ];
        const seen = inputs.map((x) => {
          let ends: unknown;
          try {
            ends = tidy(() => run(x, y!).itemSync());
          } catch (error) {
            ends = (error as Error).message.split('\n')[0];
          }
          return [ends, w.grad?.tolist()];
        });
        free();
        for (const each of [w, y!, ...inputs]) each.dispose();
        return seen;
      };
      const expected = outcome(null);
      for (const options of [{}, { fullGraph: true }, { capture: 'auto' }] as const) {
        expect(outcome(options)).toEqual(expected);
      }
    });
  }
});
