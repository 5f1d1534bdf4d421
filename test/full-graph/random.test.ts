/** Random numbers in branches and loops: the stream of eager execution on every path. */

import { describe, expect, it } from 'vitest';
import {
  dropout,
  memory,
  nn,
  rand,
  randn,
  randomState,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { sameAsEager } from './suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();

describe('random numbers in a branch', () => {
  it('in one branch only, and after it', () => {
    const f = (x: Tensor) => {
      let y = x.mul(2);
      if (x.sum().itemSync() > 0) y = y.add(randn([3]));
      return [y, rand([2])];
    };
    sameAsEager(f, [() => [x(1, 2, 3)], () => [x(-1, -2, -3)]]);
  });

  it('a different number of them in each branch', () => {
    const f = (x: Tensor) => {
      const first = rand([1]);
      const y = x.sum().itemSync() > 0 ? x.mul(rand([3])) : x.mul(randn([3, 3])).sum(0);
      return [first, y, dropout(y, 0.5, true)];
    };
    sameAsEager(f, [() => [x(1, 2, 3)], () => [x(-1, -2, -3)]]);
  });
});

describe('random numbers in a loop', () => {
  it('dropout in every iteration: the gradient uses the same masks', () => {
    const f = (x: Tensor) => {
      let h = x;
      let n = 0;
      while (h.abs().sum().itemSync() > 1) {
        h = dropout(h, 0.3, true).mul(0.5);
        n++;
      }
      return [h, n, rand([2])];
    };
    sameAsEager(f, [
      () => [x(0.1, 0.2)],
      () => [x(0.6, 0.9)],
      () => [x(1.01, 0.2)],
      () => [x(1000, 2000)],
    ]);
  });

  it('in one branch of an iteration, with a break', () => {
    const f = (x: Tensor, most: Tensor) => {
      let h = x;
      for (;;) {
        const r = rand([]).itemSync() * most.itemSync();
        if (r < 0.4) h = h.add(randn([2]).mul(0.01));
        else if (r > 0.95) break;
        h = h.mul(0.9);
        if (h.abs().max().itemSync() < 0.1) break;
      }
      return [h, randn([2])];
    };
    sameAsEager(
      f,
      [
        [1, 2, 1],
        [0.05, 0.01, 1],
        [7, -7, 1],
        [7, -7, 0.4],
      ].map(([a, b, most]) => () => [x(a!, b!), tensor([most!])]),
      {
        never: [['no iteration', 'rand([])', 'the first iteration is known']],
      },
    );
  });

  it('in a loop inside a loop', () => {
    const f = (x: Tensor) => {
      let [h, outer] = [x, 0];
      while (outer < 3 && h.sum().itemSync() < 100) {
        let inner = h.sum().itemSync();
        while (inner < 4) {
          h = h.add(rand([2]));
          inner = inner + 1;
        }
        outer++;
        h = h.add(1);
      }
      return [h, rand([1])];
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(200, 1)], () => [x(-2, 0)]], {
      never: [['no iteration', '3 && h.sum()', 'the iteration itself asks whether there is one']],
    });
  });

  it('a float64 draw takes two places, a layer draws as a function does', () => {
    const layer = new nn.Dropout(0.2);
    const f = (x: Tensor) => {
      let h = layer.forward(x);
      while (h.sum().itemSync() > 2)
        h = layer.forward(h).mul(rand([2], { dtype: 'float64' }).to('float32'));
      return h;
    };
    sameAsEager(f, [
      () => [x(1, 2)],
      () => [x(20, 30)],
      () => [x(0.1, 0.2)],
      () => [x(2000, 3000)],
    ]);
  });
});

it('after a reseeding the same program draws other numbers', () => {
  const f = (x: Tensor) => (x.sum().itemSync() > 0 ? x.add(rand([2])) : x);
  const graph = toStatic(f, { fullGraph: true });
  const before = memory.stats('cpu').allocated;
  tidy(() => {
    const data = tensor([1, 2]);
    for (const n of [1, 2, 1]) {
      seed(n);
      const expected = [f(data), f(data)].map((y) => [...y.dataSync()]);
      seed(n);
      expect([graph(data), graph(data)].map((y) => [...y.dataSync()])).toEqual(expected);
    }
  });
  expect(graph.stats().translations).toBe(1);
  expect(memory.stats('cpu').allocated).toBe(before);
});

describe('seed() on some paths only', () => {
  const functions: Record<string, (x: Tensor, n: Tensor) => Tensor> = {
    'in a branch': (x, n) => {
      if (n.itemSync() > 1) seed(5);
      return x.add(rand([3]));
    },
    'in both branches, between draws': (x, n) => {
      let y = x.add(rand([3]));
      if (n.itemSync() > 1) {
        seed(5);
        y = y.add(rand([3]));
      } else {
        y = y.mul(randn([3])).add(rand([3]));
        seed(7);
      }
      return y.add(randn([3]));
    },
    'in each iteration': (x, n) => {
      let y = x;
      for (let i = 0; i < n.itemSync(); i++) {
        y = y.add(rand([3]));
        seed(i + 0.5);
        y = dropout(y, 0.5, true).mul(rand([3]));
      }
      return y.add(rand([3]));
    },
    'after another one, behind an early return': (x, n) => {
      seed(9);
      const y = x.add(rand([3]));
      if (n.itemSync() > 1) return y.add(rand([3]));
      seed(-4);
      return y;
    },
  };

  it.each(Object.entries(functions))('%s', (_, fn) => {
    const drawn = (run: typeof fn) =>
      tidy(() => {
        seed(42);
        return [0, 1, 2, 3, 1].map((n) => {
          const x = tensor([1, 2, 3]).requiresGrad_();
          const y = run(x, tensor(n));
          y.sum().backward();
          const all = [y, x.grad!, rand([2])].map((each) => each.toArraySync());
          x.grad!.dispose();
          return [all, randomState()];
        });
      });
    const captured = toStatic(fn, { fullGraph: true });
    expect(drawn(captured)).toEqual(drawn(fn));
    expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [], fallbacks: [] });
  });
});
