/** A tensor that a program knows by several names has one gradient, summed in the order of the ops that read it. */

import { describe, expect, it } from 'vitest';
import {
  load,
  randn,
  save,
  seed,
  stack,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import { shareOfDay } from '../../share-of-day.ts';
import { sameAsEager } from '../suite.ts';

type Fn = (x: Tensor, y: Tensor, n: Tensor) => unknown;

/** Numbers whose sums depend on their order. */
const given = (...decisions: number[]) =>
  decisions.map((decision, i) => () => {
    const [x, y] = tidy(() => {
      seed(i + 1);
      return [randn([33]), randn([33])].map((each) => each.mul(100 ** (i % 3)).detach());
    });
    return [x!.requiresGrad_(), y!.requiresGrad_(), tensor(decision)];
  });

/** Reads the first tensor three times. */
const thrice = (a: Tensor, b: Tensor) => a.mul(b).add(a.sin()).mul(a.exp().add(1.1));

/** Reads one after the other. */
const inTurn = (a: Tensor, b: Tensor) =>
  a.mul(0.3).add(b.sin()).mul(a.cos().add(1.3)).add(b.tanh().mul(a.sigmoid())).add(b.mul(1.7));

const functions: Record<string, Fn> = {
  'a branch hands on an argument': (x, y, n) => {
    let t = x;
    if (n.itemSync() > 0) t = y;
    return inTurn(t, x);
  },
  'a branch hands on one of two values': (x, y, n) => {
    const [a, b] = [x.mul(1.1), y.mul(0.9)];
    const t = n.itemSync() > 0 ? a : b;
    return inTurn(t, a).add(inTurn(b, t));
  },
  'a branch hands on what it reads': (x, y, n) => {
    const a = x.mul(1.1);
    let t = a;
    if (n.itemSync() > 0) t = thrice(a, y);
    return inTurn(t, a).mul(y);
  },
  'branches in one another': (x, y, n) => {
    const a = x.mul(1.1);
    let t = y;
    if (n.itemSync() > 0) {
      t = thrice(a, y);
      if (n.itemSync() > 1) t = a;
    }
    return inTurn(t, a).add(inTurn(t, y));
  },
  'branches in a row': (x, y, n) => {
    const a = x.mul(1.1);
    const t = n.itemSync() > 0 ? a : y;
    const u = n.itemSync() > 1 ? t : x;
    return inTurn(t, a).add(inTurn(u, a)).add(inTurn(t, u)).add(inTurn(u, x));
  },
  'a path of a branch in a branch hands on what the others read': (x, y, n) => {
    const [b, a] = [x.mul(0.6), n.itemSync() === 0 ? x.mul(0.9) : x];
    let [t, u] = [a, a];
    if (n.itemSync() > 0) {
      if (n.itemSync() < 3) {
        t = x.mul(b).tanh();
        u = x.mul(0.6);
      } else {
        u = x.mul(0.6);
      }
    } else {
      u = x.mul(0.6);
    }
    return t.add(b).add(a).add(u).add(y);
  },
  'a branch reads it by both names': (x, y, n) => {
    const a = x.mul(1.1);
    const t = n.itemSync() > 0 ? a : y;
    let r = t.mul(a);
    if (n.itemSync() < 3) r = r.add(inTurn(t, a));
    return r.add(inTurn(a, t));
  },
  'a branch reads it by the new name alone': (x, y, n) => {
    const a = x.mul(1.1);
    const t = n.itemSync() > 0 ? a : y;
    let r = y;
    if (n.itemSync() < 3) r = r.add(thrice(t, y));
    return r.mul(inTurn(a, y));
  },
  'a branch reads an argument by a new name alone': (x, y, n) => {
    const t = n.itemSync() > 0 ? x : y;
    let r = y.mul(0.7);
    if (n.itemSync() < 3) r = r.add(thrice(t, r));
    return r.mul(x.add(y.mul(x)));
  },
  'a branch reads an argument by a new name alone, before it is read': (x, y, n) => {
    const t = n.itemSync() > 0 ? x : y;
    let r = y.mul(0.7);
    if (n.itemSync() < 3) r = r.add(thrice(t, r));
    return r.mul(x);
  },
  'a loop reads it by a new name alone': (x, y, n) => {
    const a = x.mul(1.1);
    const t = n.itemSync() > 0 ? a : y;
    let r = y;
    for (let i = 0; i < n.itemSync(); i++) r = r.add(thrice(t, r)).tanh();
    return r.mul(inTurn(a, y));
  },
  'a branch in a loop chooses among what is read there': (x, y, n) => {
    const [a, b] = [x.mul(1.1), y.mul(0.9)];
    let [h, t] = [a, b];
    for (let i = 0; i < n.itemSync(); i++) {
      t = h.sum().itemSync() > 0 ? a : t;
      h = inTurn(t, a).add(inTurn(h, b)).tanh();
    }
    return inTurn(t, a).mul(inTurn(h, b));
  },
  'a loop in a loop starts with what both read': (x, y, n) => {
    const a = x.mul(1.1);
    let h = a;
    for (let i = 0; i < n.itemSync(); i++) {
      let k = h;
      for (let j = 1; j < n.itemSync(); j++) k = inTurn(k, h).add(inTurn(a, k)).tanh();
      h = inTurn(k, h).mul(y).tanh();
    }
    return inTurn(h, a);
  },
  'a branch reads it by the old name alone': (x, y, n) => {
    const a = x.mul(1.1);
    const t = n.itemSync() > 0 ? a : y;
    let r = y;
    if (n.itemSync() < 3) r = r.add(thrice(a, y));
    return r.mul(inTurn(t, y));
  },
  'two results of a branch are one': (x, y, n) => {
    let [t, u] = [x.mul(1.1), y.mul(0.9)];
    if (n.itemSync() > 0) {
      t = x.mul(y);
      u = t;
    }
    return inTurn(t, u).mul(x);
  },
  'a loop starts with what it reads': (x, y, n) => {
    const a = x.mul(1.1);
    let h = a;
    for (let i = 0; i < n.itemSync(); i++) h = inTurn(h, a).add(thrice(h, y)).tanh();
    return inTurn(h, a);
  },
  'a loop starts with an argument': (x, y, n) => {
    let h = x;
    for (let i = 0; i < n.itemSync(); i++) h = inTurn(x, h).mul(y).tanh();
    return inTurn(h, x);
  },
  'a loop keeps the value before': (x, y, n) => {
    let [before, h] = [x.mul(1.1), y.mul(0.9)];
    for (let i = 0; i < n.itemSync(); i++) {
      const next = inTurn(before, h).tanh();
      before = h;
      h = next;
    }
    return inTurn(h, before).mul(inTurn(before, x));
  },
  'a loop exchanges': (x, y, n) => {
    const [a, b] = [x.mul(1.1), y.mul(0.9)];
    let [t, u] = [a, b];
    for (let i = 0; i < n.itemSync(); i++) [t, u] = [u, t];
    return inTurn(t, a).add(inTurn(u, b)).add(inTurn(t, b));
  },
  'a branch in a loop keeps it': (x, y, n) => {
    let h = x.mul(1.1);
    for (let i = 0; i < n.itemSync(); i++) {
      let t = h;
      if (i > 0) t = thrice(h, y).tanh();
      h = inTurn(t, h).tanh();
    }
    return inTurn(h, x);
  },
  'the best of a loop': (x, y, n) => {
    let [h, best] = [x.mul(1.1), y];
    for (let i = 0; i < n.itemSync(); i++) {
      h = thrice(h, y).tanh();
      if (h.sum().itemSync() > 0) best = h;
      h = inTurn(h, best).tanh();
    }
    return inTurn(best, h);
  },
};

/** The same tensor is what a loop carries, and an element of a list. */
const lists: Record<string, Fn> = {
  'a list of what a loop carries': (x, y, n) => {
    const out: Tensor[] = [];
    let h = x;
    for (let i = 0; i < n.itemSync(); i++) {
      h = thrice(h, y).tanh();
      out.push(h);
    }
    let r = y;
    for (const each of out) r = inTurn(each, r).add(thrice(each, y)).tanh();
    return inTurn(r, y);
  },
  'a list takes it before it is changed': (x, y, n) => {
    const out: Tensor[] = [];
    let h = x.mul(1.1);
    for (let i = 0; i < n.itemSync(); i++) {
      out.push(h);
      h = thrice(h, y).tanh();
    }
    for (const each of out) h = inTurn(each, h).tanh();
    return inTurn(h, y);
  },
};

describe('full-graph/several-names', () => {
  const all = { ...functions, ...lists };
  const inputs = given(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
  it.each(Object.entries(functions))('%s', (_, fn) => {
    sameAsEager(fn, inputs);
  });

  it.each(Object.entries(lists))('%s', (_, fn) => {
    const asks = 'the iteration itself asks whether there is one';
    sameAsEager(fn, inputs, { never: [['no iteration', 'const each of out', asks]] });
  });

  it.each(shareOfDay(Object.entries(all)))('and as one part of a graph: %s', (_, fn) => {
    const graph = toStatic(fn, { fullGraph: true });
    const gradients = (call: Fn, make: () => unknown[]) =>
      tidy(() => {
        const [x, y, n] = make() as [Tensor, Tensor, Tensor];
        const all = [x.mul(y), call(x, y, n), call(x.add(y), y, n), x.sin()] as Tensor[];
        all
          .reduce((sum, each) => sum.add(each))
          .sum()
          .backward();
        const found = [x, y].map(({ grad }) => [...grad!.dataSync()]);
        for (const each of [x, y]) each.grad!.dispose();
        return found;
      });
    for (const make of inputs) expect(gradients(graph as Fn, make)).toEqual(gradients(fn, make));
  });

  it.each(shareOfDay(Object.entries(all), 1))(
    'and where the function differentiates it: %s',
    (_, fn) => {
      const step = (x: Tensor, y: Tensor, n: Tensor) => {
        const [a, b] = [x.detach().requiresGrad_(), y.detach().requiresGrad_()];
        (fn(a, b, n) as Tensor).add(a.mul(b)).sum().backward();
        return [a.grad!.mul(1), b.grad!.mul(1)];
      };
      const graph = toStatic(step, { fullGraph: true });
      const gradients = (call: typeof step, make: () => unknown[]) =>
        tidy(() => call(...(make() as [Tensor, Tensor, Tensor])).map((g) => [...g.dataSync()]));
      for (const make of inputs) expect(gradients(graph, make)).toEqual(gradients(step, make));
      expect(graph.stats()).toMatchObject({ graphs: 1, breaks: [] });
    },
  );

  it.each(shareOfDay(Object.entries(all), 2))('and in a program from a file: %s', async (_, fn) => {
    const graph = toStatic(fn, { fullGraph: true });
    void graph(...(inputs[1]!() as Parameters<Fn>));
    const loaded = (await load(await save(graph))) as Fn;
    const gradients = (call: Fn, make: () => unknown[]) =>
      tidy(() => {
        const [x, y, n] = make() as [Tensor, Tensor, Tensor];
        const all = [x.mul(y), call(x, y, n), x.sin(), y.cos()] as Tensor[];
        all
          .reduce((sum, each) => sum.add(each))
          .sum()
          .backward();
        const found = [x, y].map(({ grad }) => [...grad!.dataSync()]);
        for (const each of [x, y]) each.grad!.dispose();
        return found;
      });
    for (const make of inputs) expect(gradients(loaded, make)).toEqual(gradients(fn, make));
  });

  it('a list of what a loop carries is stacked', () => {
    const fn: Fn = (x, y, n) => {
      const out: Tensor[] = [];
      let h = x;
      for (let i = 0; i < n.itemSync() + 1; i++) {
        out.push(h);
        h = thrice(h, y).tanh();
      }
      return inTurn(stack(out).sum(0), h).add(inTurn(h, x));
    };
    sameAsEager(fn, inputs, {
      never: [['no iteration', 'n.itemSync() + 1', 'there is always one']],
    });
  });

  it('goes to the sum of its name in the plan, on the paths where it has one', () => {
    const graph = toStatic(functions['a branch hands on what it reads']!, { fullGraph: true });
    for (const make of inputs) (graph(...(make() as Parameters<Fn>)) as Tensor).sum().backward();
    const [{ stages }] = graph.programs() as [ReturnType<typeof graph.programs>[number]];
    const ops = stages!.planned.backward!.plan.steps.map(({ op }) => op.op.name);
    expect(ops.filter((name) => name === 'nameGradient').length).toBeGreaterThan(4);
  });

  it('has one sum where no other name of it is read', () => {
    const fn: Fn = (x, y, n) => {
      let h = x.mul(y);
      for (let i = 0; i < 2; i++) if (n.itemSync() > i) h = h.mul(y).tanh().add(h);
      return h.mul(h.sin());
    };
    const graph = toStatic(fn, { fullGraph: true });
    for (const make of inputs) (graph(...(make() as Parameters<Fn>)) as Tensor).sum().backward();
    const [{ stages }] = graph.programs() as [ReturnType<typeof graph.programs>[number]];
    const { ops } = stages!.joint!;
    expect(ops.filter(({ op }) => op.name === 'nameGradient')).toEqual([]);
  });
});
