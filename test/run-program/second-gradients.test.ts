/** Gradients of gradients through one program: what eager execution gives, to the last bit. */

import { describe, expect, it } from 'vitest';
import { AutogradError } from '../../runtime/errors/errors.ts';
import {
  cat,
  crossEntropy,
  grad,
  layerNorm,
  type MemoryChoice,
  maxPool2d,
  memory,
  stack,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { values, weights } from '../trace/same-as-eager.ts';
import { bits, uses } from './gradient-uses.ts';
import { measure } from './memory-counter.ts';

type Fn = (x: Tensor, w: Tensor) => Tensor[];

/** All of [3, 4] and [4, 3]. */
const functions: Record<string, Fn> = {
  'a layer': (x, w) => [x.matmul(w).tanh().pow(2).sum()],
  'a value read in several places': (x, w) => {
    const h = x.matmul(w);
    const y = h.exp().mul(h).add(h.sigmoid().mul(h));
    return [y.div(h.pow(2).add(1)).sum()];
  },
  'normalized rows': (x, w) => {
    const h = layerNorm(x.matmul(w), [3], w.select(0, 0), w.select(0, 1));
    return [h.mul(h.softmax(1)).sum()];
  },
  'a classification loss': (x, w) => {
    return [crossEntropy(x.matmul(w), tensor([0, 2, 1], { dtype: 'int32' }))];
  },
  'pooled activations': (x, w) => {
    const h = x.matmul(w).mul(x.matmul(w)).reshape([1, 1, 3, 3]).relu();
    return [maxPool2d(h, 2, { stride: 1 }).pow(3).sum()];
  },
  'parts put together': (x, w) => {
    const h = x.matmul(w);
    const both = cat([h, h.t().mul(h)], 0);
    return [both.tanh().mul(both).sum().add(h.exp().sum())];
  },
  'rows of activations, stacked': (x, w) => {
    const rows = w.mul(2).unbind(0);
    const all = stack(rows.map((row) => row.tanh()));
    return [all.mul(x.t()).sin().sum()];
  },
  'a part without history': (x, w) => {
    const h = x.matmul(w);
    return [h.detach().t().mul(h.exp()).mul(h).sum()];
  },
  'sums that begin with the same gradient': (x, w) => {
    const a = x.matmul(w);
    const h = a.mul(a).tanh();
    return [h.sum().add(h.mul(a).sum()).add(h.mul(h).sum())];
  },
  'a result in the middle': (x, w) => {
    const h = x.matmul(w).tanh();
    return [h.exp().mul(h).sum(), h];
  },
  'a write in place': (x, w) => {
    const h = x.matmul(w);
    const k = h.mul(2);
    k.add_(h.tanh());
    return [k.mul(k).sum()];
  },
};

/** What all uses find, and the bytes that each leaves. */
function outcomes(fn: Fn, names: readonly string[] = Object.keys(uses)): Record<string, unknown> {
  return Object.fromEntries(
    names.map((name) => {
      const before = memory.stats('cpu').allocated;
      const seen = tidy(() => {
        const [x, w] = [weights([3, 4], 1), weights([4, 3], 7)];
        const found = uses[name]!(fn(x, w), x, w);
        for (const { grad: left } of [x, w]) left?.dispose();
        return found;
      });
      return [name, [seen, memory.stats('cpu').allocated - before]];
    }),
  );
}

const choices: readonly MemoryChoice[] = ['cleaned', 'beforeUnusedValues', { budget: 0 }];

it.each(Object.entries(functions))('%s', (_, fn) => {
  const captured = toStatic(fn, { strict: true, fallback: 'error' });
  expect(outcomes(captured)).toEqual(outcomes(fn));
});

it.each(choices)('with other memory options: %o', (choice) => {
  const names = ['a loss with its penalty'];
  for (const name of ['normalized rows', 'pooled activations', 'parts put together']) {
    const fn = functions[name]!;
    expect(outcomes(toStatic(fn, { memory: choice }), names), name).toEqual(outcomes(fn, names));
  }
});

it('of numbers that each run brings', () => {
  const fn = (x: Tensor, by: number) => x.mul(by).exp().mul(x).sum();
  const captured = toStatic(fn, { strict: true, fallback: 'error' });
  const slopes = (each: typeof fn, by: number) =>
    tidy(() => {
      const x = weights([3]);
      const [slope] = grad(each(x, by), [x], { createGraph: true });
      return [slope!, ...grad(slope!.mul(by).sum(), [x])].map(bits);
    });
  for (const by of [0.5, 0.75, 0.25]) expect(slopes(captured, by)).toEqual(slopes(fn, by));
  expect(captured.stats().translations).toBe(2);
});

it('takes as many bytes as was predicted, and gives them all back', () => {
  const fn = (x: Tensor, w: Tensor) => x.matmul(w).tanh().exp();
  const captured = toStatic(fn);
  const before = memory.stats('cpu').allocated;
  tidy(() => {
    const [x, w] = [weights([16, 16]), weights([16, 16], 1)];
    const y = captured(x, w);
    const seed = values([16, 16], 2);
    const first = measure(() => grad(y, [x, w], { gradOutputs: seed, createGraph: true }));
    const { higherOrder } = captured.programs()[0]!.stages!.planned.backward!;
    const given = [{ of: 0, recorded: false }];
    const request = {
      recorded: true,
      outputs: given,
      values: [],
      earlier: [],
      watched: false,
      requested: null,
      path: null,
    };
    const [only, ...others] = higherOrder!.at(request).parts;
    expect(others).toEqual([]);
    const { planned } = only!.part!;
    expect(first.peak).toBe(planned.forward.predicted.peakBytes);
    expect(first.kept).toBe(
      planned.forward.predicted.savedBytes + planned.forward.predicted.outputBytes,
    );
    grad(first.result[0]!.mul(first.result[1]!).sum(), [x]);
  });
  expect(memory.stats('cpu').allocated).toBe(before);
});

describe('what can not be', () => {
  const fn = (x: Tensor, w: Tensor) => x.mul(w).exp().mul(w).sum();

  it('a value of forward was written since: the error of eager execution, and nothing is lost', () => {
    const found = [fn, toStatic(fn)].map((each) => {
      const before = memory.stats('cpu').allocated;
      tidy(() => {
        const [x, w] = [weights([3, 4]), values([3, 4], 1)];
        const y = each(x, w);
        w.add_(1);
        expect(() => grad(y, [x], { createGraph: true })).toThrow(AutogradError);
      });
      return memory.stats('cpu').allocated - before;
    });
    expect(found).toEqual([0, 0]);
  });
});

const presets = [
  'planned',
  'cleaned',
  'inputsCleaned',
  'beforeUnusedValues',
  'beforeGradNodeInputs',
] as const;
const layouts: Record<string, (x: Tensor) => Tensor> = {
  contiguous: (x) => x,
  transposed: (x) => x.t().contiguous().t(),
  narrowed: (x) => cat([x, x], 1).narrow(1, 0, 3),
  everySecond: (x) => stack([x, x], 2).select(2, 1),
};

describe.each(presets)('of inputs that %s copies', (preset) => {
  it.each(Object.keys(layouts))('%s', (layout) => {
    const gradients = (isCaptured: boolean) => {
      const [w, v] = [weights([3], 1), weights([2, 3], 2)];
      const fn = (x: Tensor) => [x.mul(w).tanh().mul(v), x.sum(0).mul(w), x.exp().mul(w)];
      const f = isCaptured ? toStatic(fn, { memory: preset }) : fn;
      const x = layouts[layout]!(values([2, 3], 3));
      const [a, b, c] = f(x) as [Tensor, Tensor, Tensor];
      const loss = a.mul(a).sum().add(b.mul(b).sum()).add(c.mul(c).sum());
      const first = grad(loss, [w, v], { createGraph: true }) as Tensor[];
      first[0]!.mul(first[0]!).sum().add(first[1]!.pow(3).sum()).backward();
      return [...first, w.grad!, v.grad!].map((each) => [...each.dataSync()]);
    };
    expect(gradients(true)).toEqual(gradients(false));
  });
});
