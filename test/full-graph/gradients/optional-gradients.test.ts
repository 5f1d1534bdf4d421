/** A tensor that the taken branch did not read has no gradient, as in eager execution. */

import { describe, expect, it } from 'vitest';
import {
  cond,
  grad,
  memory,
  type StaticFunction,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import { expectPredicted } from '../suite.ts';

type Fn = (x: Tensor, w: Tensor, v: Tensor, n: Tensor) => Tensor | readonly Tensor[];

const functions: Record<string, Fn> = {
  'a branch that was not taken': (x, w, v, n) => {
    let y = x.mul(2);
    if (n.itemSync() > 0) y = y.mul(w);
    else y = y.add(v);
    return y;
  },
  'a loop without iterations': (x, w, v, n) => {
    let y = x;
    for (let i = 0; i < n.itemSync(); i++) y = y.mul(w).add(v.sin());
    return y;
  },
  'a value made before that only one branch reads': (x, w, v, n) => {
    const z = w.exp().mul(v);
    return n.itemSync() > 1 ? x.mul(z) : x.neg();
  },
  'what branches and the caller read': (x, w, v, n) => {
    let y = x.mul(v);
    if (n.itemSync() > 0) y = y.mul(w).add(w.tanh());
    if (n.itemSync() > 1) y = y.add(w.mul(v));
    return y;
  },
  'branches in loops': (x, w, v, n) => {
    let y = x;
    for (let i = 0; i < n.itemSync(); i++) {
      if (i > 1) y = y.mul(w);
      else y = y.sin();
      for (let k = 1; k < i; k++) y = y.add(v);
    }
    return y;
  },
  'a carried value that an iteration replaces': (x, w, v, n) => {
    let y = x.mul(3);
    for (let i = 0; i < n.itemSync(); i++) y = w.mul(v).add(i);
    return y;
  },
  'lists of which some elements are read': (x, w, v, n) => {
    const list = [x];
    for (let i = 0; i < n.itemSync(); i++) list.push(i > 0 ? w.mul(2) : v.mul(3));
    return list.at(-1)!;
  },
  'several results': (x, w, v, n) => {
    let [a, b] = [x, x];
    if (n.itemSync() > 0) {
      a = a.mul(w);
      b = b.mul(v);
    }
    return [a, b];
  },
  'results of which one is computed from the other': (x, w, v, n) => {
    const a = n.itemSync() > 0 ? x.mul(w) : x.neg();
    const b = n.itemSync() > 1 ? a.mul(v).exp() : x.cos();
    return [a, b.mul(a.detach())];
  },
  'results of a loop that hang on different operands': (x, w, v, n) => {
    let [a, b] = [x, v];
    for (let i = 0; i < n.itemSync(); i++) {
      a = a.mul(w);
      b = b.mul(2);
    }
    return [a, b];
  },
  'cond by name': (x, w, v, n) => {
    const y = x.mul(v);
    return cond(
      n.gt(1),
      (a: Tensor) => a.mul(w.sin()),
      (a: Tensor) => a.neg(),
      [y],
    );
  },
};

const plain = (t: Tensor | null) => t && [...t.dataSync()];

/** Gradients of each result by itself, and of all of them; with `.grad` from before, which stays as it is. */
function gradients(fn: Fn, turns: number, accumulate: boolean, retainGraph: boolean) {
  return tidy(() => {
    const leaves = [
      [1, -2],
      [0.5, 3],
      [-1, 0.25],
    ].map((data) => tensor(data).requiresGrad_());
    const [x, w, v] = leaves as [Tensor, Tensor, Tensor];
    const before = leaves.map((leaf) => {
      if (!accumulate) return null;
      leaf.sum().backward();
      return [leaf.grad!, leaf.grad!.holder!.version] as const;
    });
    const called = leaves.map(() => 0);
    leaves.forEach((leaf, i) => {
      leaf.registerHook(() => {
        called[i]!++;
        return null;
      });
    });
    const results = [fn(x, w, v, tensor(turns))].flat() as Tensor[];
    const each = results.map((result) => {
      const found = grad(result.sum(), leaves, { allowUnused: true, retainGraph: true });
      return found.map(plain);
    });
    for (let i = 0; i <= Number(retainGraph); i++) {
      const total = results.map((result) => result.sum()).reduce((a, b) => a.add(b));
      total.backward(null, { retainGraph: retainGraph && i === 0 });
    }
    const untouched = leaves.map((leaf, i) => {
      const [earlier, version] = before[i] ?? [null, 0];
      return leaf.grad === earlier && (earlier === null || earlier.holder!.version === version);
    });
    const all = leaves.map(({ grad: own }) => plain(own));
    for (const { grad: own } of leaves) own?.dispose();
    return { values: results.map(plain), each, all, untouched, called };
  });
}

const count = () => memory.stats('cpu').allocated;

describe.each(Object.entries(functions))('%s', (_, fn) => {
  it.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])('brings no gradient (.grad before: %s, retained: %s)', (accumulate, retain) => {
    const graph = toStatic(fn, { fullGraph: true });
    const start = count();
    for (let round = 0; round < 2; round++) {
      for (const turns of [0, 1, 2, 4]) {
        const expected = gradients(fn, turns, accumulate, retain);
        expect(gradients(graph, turns, accumulate, retain), `${turns} turns`).toEqual(expected);
        expectPredicted(graph as StaticFunction<Fn>);
      }
    }
    expect(graph.stats()).toMatchObject({ graphs: 1, breaks: [] });
    expect(count()).toBe(start);
  });
});
