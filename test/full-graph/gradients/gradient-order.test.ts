/** Gradients are summed in the order of eager execution, also where a tensor is read in and outside of regions. */

import { describe, expect, it } from 'vitest';
import { randn, seed, Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

/** Numbers whose sums depend on their order. */
const given = (...decisions: number[]) => {
  const inputs = (salt: number) => {
    seed(salt);
    const [x, y] = [randn([33]), randn([33])].map((each) => each.mul(100 ** (salt % 3)));
    return [x!.detach().requiresGrad_(), y!.detach().requiresGrad_()];
  };
  return decisions.map((decision, i) => () => [
    ...tidyInputs(() => inputs(i + 1)),
    tensor(decision),
  ]);
};

const tidyInputs = (make: () => Tensor[]): Tensor[] => tidy(make);

type Fn = (x: Tensor, y: Tensor, n: Tensor) => unknown;

/** Reads the tensor three times. */
const thrice = (x: Tensor, y: Tensor) => x.mul(y).add(x.sin()).mul(x.exp().add(1.1));

const cases: [string, Fn][] = [
  [
    'a branch, before and after it',
    (x, y, n) => {
      let a = x.mul(y).tanh();
      if (n.itemSync() > 0) a = a.add(thrice(x, y));
      return a.mul(x).add(thrice(y, x));
    },
  ],
  [
    'branches in one another',
    (x, y, n) => {
      let a = y.mul(0.3);
      if (n.itemSync() > 0) {
        a = a.mul(x).add(x.sin());
        if (n.itemSync() > 1) a = a.mul(thrice(x, a));
        a = a.add(x.mul(0.7));
      }
      return a.mul(x.cos()).add(x);
    },
  ],
  [
    'iterations, one part in each',
    (x, y, n) => {
      let h = y.mul(0.3);
      for (let i = 0; i < n.itemSync(); i++) h = h.add(y.mul(0.01)).mul(x).tanh();
      return h.mul(x).add(x.sin());
    },
  ],
  [
    'iterations, many parts in each',
    (x, y, n) => {
      let h = y.mul(0.3);
      for (let i = 0; i < n.itemSync(); i++) h = h.mul(0.1).add(thrice(x, y)).tanh();
      return h.mul(x).add(thrice(y, x));
    },
  ],
  [
    'what a loop starts with',
    (x, y, n) => {
      const start = x.mul(1.3);
      let h = start;
      for (let i = 0; i < n.itemSync(); i++) h = h.mul(y).add(h.sin()).tanh();
      return h.mul(y).add(thrice(start, y));
    },
  ],
  [
    'a loop in a branch in a loop',
    (x, y, n) => {
      let h = y.mul(0.3);
      for (let i = 0; i < n.itemSync(); i++) {
        if (h.sum().itemSync() > 0) {
          for (let k = 0; k < n.itemSync() - 1; k++) h = h.mul(x).add(x.sin()).tanh();
          h = h.add(x);
        } else h = thrice(h, x);
      }
      return h.mul(x).add(x.cos()).add(y);
    },
  ],
];

/** What is said of a tensor that has another name on some path. */
const names: [string, Fn][] = [
  [
    'what requires gradients after a branch has handed it on',
    (x, y, n) => {
      const a = y.detach();
      let t = x;
      if (n.itemSync() > 0) t = a;
      a.requiresGrad_();
      return t.mul(3);
    },
  ],
];

describe('full-graph/gradient-order', () => {
  it.each(names)('with two names: %s', (_, fn) => {
    for (const options of [{ fullGraph: true }, { capture: 'auto' }] as const) {
      const graph = toStatic(fn, options);
      for (const make of given(0, 1, 2, 3, 1)) {
        const gradients = (call: Fn) =>
          tidy(() => {
            const [x, y, n] = make() as [Tensor, Tensor, Tensor];
            const found = [call(x, y, n)].flat() as Tensor[];
            if (found[0]!.requiresGrad) found[0]!.sum().backward();
            const values = found.map((each) =>
              each instanceof Tensor ? [...each.dataSync()] : each,
            );
            const all = [values, ...[x, y].map(({ grad }) => grad && [...grad.dataSync()])];
            for (const each of [x, y]) each.grad?.dispose();
            return all;
          });
        expect({ options, found: gradients(graph as Fn) }).toEqual({
          options,
          found: gradients(fn),
        });
      }
      expect(graph.stats().breaks).toEqual([]);
    }
  });

  it.each(cases)('of a tensor that is read in %s', (_, fn) => {
    sameAsEager(fn, given(0, 1, 2, 3, 1, 1, 1));
  });

  it.each(cases)('and in several calls: %s', (_, fn) => {
    const graph = toStatic(fn, { fullGraph: true });
    const gradients = (call: Fn) =>
      tidy(() => {
        const [x, y, n] = given(2)[0]!() as [Tensor, Tensor, Tensor];
        const all = [call(x, y, n), call(x, y.mul(0.9), n), x.mul(y), call(x.add(y), y, n)];
        (all as Tensor[])
          .reduce((sum, each) => sum.add(each))
          .sum()
          .backward();
        const found = [x, y].map(({ grad }) => [...grad!.dataSync()]);
        for (const each of [x, y]) each.grad!.dispose();
        return found;
      });
    expect(gradients(graph as Fn)).toEqual(gradients(fn));
  });

  it('of one of several results', () => {
    const fn = (x: Tensor, n: Tensor) => {
      let [a, b] = [x.mul(0.3), x.mul(0.7)];
      if (n.itemSync() > 0) a = thrice(x, a);
      if (n.itemSync() > 0) b = thrice(x, b);
      return [a, b, x.sin()];
    };
    const graph = toStatic(fn, { fullGraph: true });
    const gradients = (call: typeof fn, wanted: number[]) =>
      tidy(() => {
        const x = (given(1)[0]!() as [Tensor])[0];
        const results = call(x, tensor(1));
        for (const i of wanted) results[i]!.sum().backward(undefined, { retainGraph: true });
        const found = [...x.grad!.dataSync()];
        x.grad!.dispose();
        return found;
      });
    for (const wanted of [[0], [1], [2], [1, 0], [0, 1, 2], [2, 0]]) {
      expect(gradients(graph as typeof fn, wanted)).toEqual(gradients(fn, wanted));
    }
  });
});
