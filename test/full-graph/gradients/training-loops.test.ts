/** Training steps inside branches and loops of one program: gradients, updates and state as eagerly. */

import { describe, expect, it } from 'vitest';
import { grad, nn, optim, type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

/** Leaves gradients at the parameter. */
const stepBack = (w: Tensor) => tidy(() => lossOf(w, data(), truth()).backward());

type Optimizer = optim.SGD | optim.Adam;
const leaf = (...values: number[]) => tensor(values).requiresGrad_();
const data = () => tensor([1, 2, 0.5, -1, 3, 1], { shape: [3, 2] });
const truth = () => tensor([1, -1, 2]);

const lossOf = (w: Tensor, x: Tensor, y: Tensor) => x.mv(w).sub(y).square().mean();

const untilLow = (opt: Optimizer, w: Tensor, x: Tensor, y: Tensor, limit: Tensor) => {
  let value = Number.POSITIVE_INFINITY;
  let turns = 0;
  while (value > limit.itemSync() && turns < 30) {
    opt.zeroGrad();
    const loss = lossOf(w, x, y);
    loss.backward();
    opt.step();
    value = loss.itemSync();
    turns++;
  }
  return [turns, value];
};

const setups = (make: (w: Tensor) => Optimizer, limits: readonly number[]) =>
  limits.map((limit) => () => {
    const w = leaf(0.5, -0.25);
    const opt = make(w);
    return [opt, w, data(), truth(), tensor(limit), [Object.values(opt.stateDict().state)]];
  });

describe('a training loop that ends when the loss is low', () => {
  const limits = [0.5, 0.05, 10, 0];
  it.each<[string, (w: Tensor) => Optimizer]>([
    ['SGD', (w) => new optim.SGD([w], { lr: 0.05 })],
    ['SGD with momentum', (w) => new optim.SGD([w], { lr: 0.02, momentum: 0.9 })],
    ['Adam', (w) => new optim.Adam([w], { lr: 0.1 })],
    ['AdamW', (w) => new optim.AdamW([w], { lr: 0.1 })],
  ])('%s', (_, make) => {
    sameAsEager(untilLow, setups(make, limits), {
      never: [
        ['no iteration', 'limit.itemSync()', 'the iteration itself asks whether there is one'],
      ],
    });
  });

  it('starts with gradients that are there already', () => {
    const make = (limit: number) => () => {
      const w = leaf(0.5, -0.25);
      const opt = new optim.SGD([w], { lr: 0.05 });
      stepBack(w);
      return [opt, w, data(), truth(), tensor(limit)];
    };
    sameAsEager(untilLow, [make(0.1), make(10)], {
      never: [
        ['no iteration', 'limit.itemSync()', 'the iteration itself asks whether there is one'],
      ],
    });
  });

  it('a loop that may have no iteration leaves gradients as they were', () => {
    const f = (opt: Optimizer, w: Tensor, x: Tensor, y: Tensor) => {
      let loss = lossOf(w, x, y);
      let turns = 0;
      while (loss.itemSync() > 0.6 && turns < 5) {
        opt.zeroGrad();
        loss.backward();
        opt.step();
        loss = lossOf(w, x, y);
        turns++;
      }
      return turns;
    };
    const make = (start: number, before: boolean) => () => {
      const w = leaf(start, -0.25);
      const opt = new optim.SGD([w], { lr: 0.05 });
      if (before) stepBack(w);
      return [opt, w, data(), truth()];
    };
    sameAsEager(f, [make(0.5, false), make(3, false)]);
    sameAsEager(f, [make(0.5, true), make(3, true)]);
  });
});

describe('parts of a step under a condition', () => {
  const step = (make: (values: readonly number[]) => unknown[]) =>
    [
      [0.5, -0.25],
      [30, 4],
      [0.44, 0.5],
    ].map((values) => () => make(values));
  const sgd = (values: readonly number[]) => {
    const w = leaf(...values);
    return [new optim.SGD([w], { lr: 0.05 }), w, data(), truth()];
  };

  it('clips gradients whose norm is large', () => {
    sameAsEager((opt: Optimizer, w: Tensor, x: Tensor, y: Tensor) => {
      lossOf(w, x, y).backward();
      const norm = w.grad!.square().sum().sqrt().itemSync();
      if (norm > 1) nn.utils.clipGradNorm_([w], 1);
      opt.step();
      return norm;
    }, step(sgd));
  });

  it('skips a step whose gradients are not finite', () => {
    sameAsEager(
      (opt: Optimizer, w: Tensor, x: Tensor, y: Tensor, state: { scale: number }) => {
        opt.zeroGrad();
        lossOf(w, x, y).mul(state.scale).backward();
        const finite = w.grad!.isfinite().all().itemSync();
        if (finite) {
          w.grad!.mul_(1 / 1024);
          opt.step();
        } else state.scale /= 2;
        opt.zeroGrad();
        return finite;
      },
      [() => [...sgd([0.5, 1]), { scale: 1024 }], () => [...sgd([1e37, 1e37]), { scale: 1024 }]],
    );
  });

  it('accumulates gradients and steps now and then', () => {
    const f = (opt: Optimizer, w: Tensor, x: Tensor, y: Tensor) => {
      let steps = 0;
      let turns = 0;
      let value = 1e9;
      while (value > 0.3 && turns < 9) {
        const loss = lossOf(w, x, y);
        loss.backward();
        turns++;
        if (turns % 3 === 0) {
          opt.step();
          opt.zeroGrad();
          steps++;
        }
        value = loss.itemSync();
      }
      return [steps, turns];
    };
    sameAsEager(f, step(sgd), {
      never: [['no iteration', '0.3 && turns', 'the iteration itself asks whether there is one']],
    });
  });

  it('goes backward from what was recorded before the branch', () => {
    sameAsEager((opt: Optimizer, w: Tensor, x: Tensor, y: Tensor) => {
      const loss = lossOf(w, x, y);
      if (loss.itemSync() < 50) {
        loss.backward();
        opt.step();
      }
      return loss.itemSync();
    }, step(sgd));
  });
});

it('takes as much memory in forty iterations as in two', () => {
  const train = (opt: Optimizer, w: Tensor, x: Tensor, y: Tensor, most: Tensor) => {
    let turns = 0;
    let value = Number.POSITIVE_INFINITY;
    while (value > 0 && turns < most.itemSync()) {
      opt.zeroGrad();
      const loss = lossOf(w, x, y);
      loss.backward();
      opt.step();
      value = loss.itemSync();
      turns++;
    }
    return turns;
  };
  const graph = toStatic(train, { fullGraph: true });
  const peaks = [2, 3, 40].map((most) => {
    const w = leaf(0.5, -0.25);
    const opt = new optim.Adam([w], { lr: 0.1 });
    expect(tidy(() => graph(opt, w, data(), truth(), tensor(most)))).toBe(most);
    for (const each of [w.grad!, w, opt]) each.dispose();
    return graph.programs()[0]!.record.peakBytes;
  });
  expect(peaks[0]).toBeGreaterThan(0);
  expect(new Set(peaks).size).toBe(1);
  expect(graph.stats()).toMatchObject({ translations: 1, breaks: [] });
});

describe('a gradient of a gradient through a loop', () => {
  const second = (x: Tensor) => {
    let y = x;
    while (y.sum().itemSync() < 20) y = y.mul(y).add(x);
    const [first] = grad(y.sum(), x, { createGraph: true });
    const [again] = grad(first!.square().sum().add(x.sum()), x);
    return again!;
  };
  const valuesOf = (f: typeof second) =>
    tidy(() => [...f(tensor([1, 2]).requiresGrad_()).dataSync()]);

  it('is refused by name in a full graph', () => {
    const graph = toStatic(second, { fullGraph: true });
    expect(() => valuesOf(graph)).toThrow(/a gradient of a gradient goes through its iterations/);
  });

  it('is that of eager execution elsewhere', () => {
    expect(valuesOf(toStatic(second, { capture: 'auto' }))).toEqual(valuesOf(second));
  });
});
