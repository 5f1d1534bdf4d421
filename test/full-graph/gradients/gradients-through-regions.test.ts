/** Gradients of gradients through branches and loops of a program: the bits of eager execution, on every path. */

import { expect, it, vi } from 'vitest';
import {
  grad,
  layerNorm,
  memory,
  noGrad,
  stack,
  type Tensor,
  type ToStaticOptions,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import { bits, uses } from '../../run-program/gradient-uses.ts';
import { shareOfDay } from '../../share-of-day.ts';
import { weights } from '../../trace/same-as-eager.ts';

/** Of [3, 4], [4, 3], and a number that decides. */
type Fn = (x: Tensor, w: Tensor, n: Tensor) => Tensor[];

const functions: Record<string, Fn> = {
  'a branch': (x, w, n) => {
    const h = x.matmul(w);
    const y = n.itemSync() > 0 ? h.tanh().mul(h) : h.exp();
    return [y.mul(h.sigmoid()).sum()];
  },
  'a branch whose path is null for one operand': (x, w, n) => {
    const h = n.itemSync() > 0 ? x.mul(w.t()).exp() : x.tanh();
    return [h.mul(x).pow(2).sum()];
  },
  'a value that backward of the branch does not read': (x, w, n) => {
    const h = x.add(w.t());
    let y = h;
    if (n.itemSync() > 0) y = y.tanh().add(h);
    return [y.mul(y).sum()];
  },
  'a branch that forwards its operand': (x, w, n) => {
    const h = x.matmul(w);
    const y = n.itemSync() > 0 ? h : h.mul(h).sigmoid();
    return [y.mul(h).mul(y.exp()).sum()];
  },
  'branches in one another': (x, w, n) => {
    let a = x.matmul(w).mul(0.3);
    if (n.itemSync() > 0) {
      a = a.mul(a).add(a.sin());
      if (n.itemSync() > 1) a = a.mul(a.tanh().mul(w.sum()));
      a = a.add(w.sum().mul(a));
    }
    return [a.mul(a.cos()).sum()];
  },
  'branches in a row': (x, w, n) => {
    let a = x.matmul(w);
    if (n.itemSync() > 0) a = a.tanh();
    else a = a.mul(a);
    if (n.itemSync() > 1) a = a.mul(w.exp().sum());
    else a = a.sigmoid().mul(a);
    return [a.pow(3).sum()];
  },
  'a loop': (x, w, n) => {
    let h = x.matmul(w);
    for (let i = 0; i < n.itemSync(); i++) h = h.matmul(h.t()).mul(0.1).tanh().mul(h);
    return [h.mul(h).sum()];
  },
  'a loop that reads tensors from before it': (x, w, n) => {
    const base = x.matmul(w);
    let h = base;
    for (let i = 0; i < n.itemSync(); i++) h = h.mul(base).add(base.tanh()).mul(w.sum()).sigmoid();
    return [h.mul(base).sum()];
  },
  'a loop with a branch, and one around both': (x, w, n) => {
    let h = x.matmul(w).mul(0.5);
    for (let i = 0; i < n.itemSync(); i++) {
      let k = h.mul(0.5);
      for (let j = 0; j <= i; j++) k = k.mul(h).add(0.3);
      if (k.sum().itemSync() > 2) h = h.mul(k).tanh();
      else h = h.add(k.exp().mul(0.1));
    }
    return [h.mul(h).sum()];
  },
  'tensors that are exchanged': (x, w, n) => {
    let [a, b] = [x.matmul(w), x.matmul(w).tanh()];
    for (let i = 0; i < n.itemSync(); i++) [a, b] = [b, a.mul(b)];
    return [a.mul(a).mul(b).sum()];
  },
  'normalized rows in a branch': (x, w, n) => {
    let h = x.matmul(w);
    if (n.itemSync() > 0) h = layerNorm(h, [3], w.select(0, 0), w.select(0, 1)).relu();
    return [h.mul(h.softmax(1)).sum()];
  },
  'a write in place inside': (x, w, n) => {
    let h = x.matmul(w);
    if (n.itemSync() > 0) {
      const k = h.mul(2);
      k.add_(h.tanh());
      k.select(0, 0).mul_(h.select(0, 1));
      h = k.mul(k);
    }
    return [h.mul(h).sum()];
  },
  'several results': (x, w, n) => {
    let h = x.matmul(w).tanh();
    const before = h;
    if (n.itemSync() > 1) h = h.exp().mul(h);
    return [h.mul(before).sum(), h];
  },
  'a list that a loop fills': (x, w, n) => {
    const out: Tensor[] = [];
    let h = x.matmul(w);
    for (let i = 0; i < n.itemSync(); i++) {
      h = h.mul(h).tanh();
      out.push(h);
    }
    let sum = h.sum();
    for (let i = out.length - 1; i >= 0; i--) sum = sum.add(out[i]!.mul(h).sum());
    return [sum];
  },
  'a list whose elements are replaced': (x, w, n) => {
    const out: Tensor[] = [x.matmul(w)];
    for (let i = 0; i < n.itemSync(); i++) {
      const last = out[out.length - 1]!;
      out.push(last.mul(out[0]!).sigmoid());
      if (i > 1) out[0] = out.pop()!.add(last);
    }
    return [out[0]!.mul(out[out.length - 1]!).sum()];
  },
  'data-dependent shapes': (x, w, n) => {
    let h = x.matmul(w);
    const out = [h];
    for (let i = 0; i < n.itemSync(); i++) {
      h = h.tanh().mul(w.sum());
      out.push(h);
    }
    const all = stack(out);
    const weights = all.matmul(x.matmul(w)).softmax(0);
    return [
      weights
        .mul(all)
        .sum()
        .add(all.narrow(0, 0, 1).exp().mean()),
    ];
  },
  'masks and values without history': (x, w, n) => {
    let h = x.matmul(w).relu();
    if (n.itemSync() > 0)
      h = h
        .mul(h.detach())
        .add(noGrad(() => h.mul(2)).mul(h))
        .relu();
    return [h.mul(h).sum()];
  },
};

const decisions = [-1, 0, 1, 2, 3];

/** What all uses find on each path, and the bytes that each leaves. */
function outcomes(fn: Fn, asked: typeof uses = uses): Record<string, unknown> {
  const of = (use: (typeof uses)[string], n: number) => {
    const before = memory.stats('cpu').allocated;
    const seen = tidy(() => {
      const [x, w] = [weights([3, 4], 1), weights([4, 3], 7)];
      try {
        return use(fn(x, w, tensor(n)), x, w);
      } catch (error) {
        return (error as Error).message.split('\n')[0];
      } finally {
        for (const { grad: left } of [x, w]) left?.dispose();
      }
    });
    return [seen, memory.stats('cpu').allocated - before];
  };
  return Object.fromEntries(
    Object.entries(asked).map(([name, use]) => [name, decisions.map((n) => of(use, n))]),
  );
}

it.each(shareOfDay(Object.entries(functions)))('through %s', (_, fn) => {
  const captured = toStatic(fn, { fullGraph: true, strict: true, fallback: 'error' });
  expect(outcomes(captured)).toEqual(outcomes(fn));
  expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [] });
});

const only = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, uses[name]!]));

const options: readonly ToStaticOptions[] = [
  { capture: 'auto' },
  { fullGraph: true, memory: 'cleaned' },
  { fullGraph: true, memory: 'beforeUnusedValues' },
  { fullGraph: true, memory: { budget: 0 } },
];

it.each(shareOfDay(options))('with other options: %o', (choice) => {
  for (const name of ['branches in one another', 'a loop with a branch, and one around both']) {
    const fn = functions[name]!;
    const asked = only(['a loss with its penalty', 'third gradients']);
    expect(outcomes(toStatic(fn, choice), asked), name).toEqual(outcomes(fn, asked));
  }
});

/** Results that a branch or loop returns, also those that it has read or forwards. */
const observed: Record<string, Fn> = {
  'forwards an operand that is read later': (x, w, n) => {
    const before = x.matmul(w).tanh();
    let h = before;
    if (n.itemSync() > 1) h = h.exp().mul(h);
    return [h.mul(before).sum(), h];
  },
  'returns a value that it reads itself': (x, w, n) => {
    let h = x.matmul(w);
    let y = h;
    if (n.itemSync() > 0) {
      h = h.tanh();
      y = h.mul(h).add(w.sum());
    }
    return [y.mul(h).sum(), h];
  },
  'carries a value that later iterations read': (x, w, n) => {
    let h = x.matmul(w);
    let before = h;
    for (let i = 0; i < n.itemSync(); i++) [before, h] = [h, h.mul(before).sigmoid()];
    return [h.mul(before).sum(), before];
  },
};

const observes: Record<string, (ys: Tensor[], x: Tensor, w: Tensor) => unknown> = {
  'a hook': ([y, h], x, w) => {
    const seen: unknown[] = [];
    h!.registerHook((g) => {
      seen.push(bits(g));
      return g.mul(g);
    });
    y!.backward();
    return [seen, bits(x.grad), bits(w.grad)];
  },
  retainGrad: ([y, h], x) => {
    h!.retainGrad();
    y!.backward();
    return [bits(h!.grad), bits(x.grad)];
  },
  grad: ([y, h], x) => grad(y!, [h!, x], { allowUnused: true }).map(bits),
  'grad twice': ([y, h]) => {
    const first = grad(y!, [h!], { retainGraph: true }).map(bits);
    return [first, grad(y!, [h!]).map(bits)];
  },
};

it.each(shareOfDay(Object.entries(observed)))(
  'a gradient of a result is complete where a region %s',
  (_, fn) => {
    const captured = toStatic(fn, { fullGraph: true, strict: true, fallback: 'error' });
    for (const [name, use] of Object.entries({ ...observes, ...uses })) {
      const [found, expected] = [captured, fn].map((each) => outcomes(each, { [name]: use }));
      expect(found, name).toEqual(expected);
    }
  },
);

it('compiles a path once', () => {
  const fn = functions['a loop']!;
  const captured = toStatic(fn, { fullGraph: true });
  const asked = only(['third gradients']);
  const first = outcomes(captured, asked);
  const { higherOrder } = captured.programs()[0]!.stages!.planned.backward!;
  const made = vi.spyOn(higherOrder!, 'at');
  expect(outcomes(captured, asked)).toEqual(first);
  expect(made).not.toHaveBeenCalled();
});

it('keeps the programs of the paths that were taken lately', () => {
  const power = (x: Tensor, n: Tensor) => {
    let y = x;
    for (let i = 0; i < n.itemSync(); i++) y = y.sin();
    return y;
  };
  const captured = toStatic(power, { fullGraph: true });
  const slopes = (turns: number) =>
    tidy(() => {
      const x = weights([3], 1).requiresGrad_();
      return bits(grad(captured(x, tensor(turns)).sum(), [x], { createGraph: true })[0]);
    });
  const first = slopes(1);
  const { higherOrder } = captured.programs()[0]!.stages!.planned.backward!;
  const made = vi.spyOn(higherOrder!, 'at');
  for (let turns = 2; turns <= 65; turns++) slopes(turns);
  expect(made).toHaveBeenCalledTimes(64);
  slopes(65);
  expect(made).toHaveBeenCalledTimes(64);
  expect(slopes(1)).toEqual(first);
  expect(made).toHaveBeenCalledTimes(65);
});
