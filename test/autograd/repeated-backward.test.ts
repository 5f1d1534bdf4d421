/**
 * A second backward without `retainGraph`: as in PyTorch it runs through ops that have saved no values, and throws
 * where one has. Eagerly, inside of a captured function, and through its results.
 */

import { describe, expect, it } from 'vitest';
import {
  AutogradError,
  backward,
  customFunction,
  grad,
  memory,
  type Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { values, weights } from '../trace/same-as-eager.ts';

type Fn = (x: Tensor, w: Tensor) => Tensor[];

const twofold = customFunction({
  name: 'twofold',
  forward: (_ctx, t: Tensor) => t.mul(2),
  backward: (_ctx, g) => [g.mul(2)],
});

const squared = customFunction({
  name: 'squared',
  forward: (ctx, t: Tensor) => {
    ctx.saveForBackward(t);
    return t.mul(t);
  },
  backward: (ctx, g) => [g.mul(ctx.savedTensors[0]!).mul(2)],
});

const repeatable: Record<string, Fn> = {
  sum: (x, w) => [x.add(w).sum()],
  'views, signs and numbers': (x, w) => [x.neg().mul(3).sub(w).t().reshape([12])],
  'a custom function': (x, w) => [twofold(x).add(w)],
  'one of two results': (x, w) => [x.add(w), x.mul(w).exp()],
  'a result in the middle': (x, w) => {
    const h = x.add(w);
    return [h.mul(2).sum(0), h];
  },
  'a part of a sum': (x, w) => [x.add(w.detach().exp()).sum(1).sub(w.mean())],
};

const refused: Record<string, Fn> = {
  'a product': (x, w) => [x.mul(w).sum()],
  'a function of its result': (x, w) => [x.add(w).exp().add(1)],
  'a factor without history': (x, w) => [x.matmul(w.detach().t()).sum()],
  'a custom function that saves': (x, w) => [squared(x).add(w)],
};

const twice = (y: Tensor, x: Tensor, w: Tensor): unknown => {
  const seed = values([...y.shape], 3);
  const first = grad(y, [x], { gradOutputs: seed, allowUnused: true });
  backward(y, seed);
  const found = grad(y, [w], { gradOutputs: seed, allowUnused: true });
  return [...first, x.grad, w.grad, ...found].map((t) => t && [...t.dataSync()]);
};

/** What comes out, and the bytes that are left. */
function outcome(use: (x: Tensor, w: Tensor) => unknown): unknown {
  const before = memory.stats('cpu').allocated;
  const found = tidy(() => {
    const [x, w] = [weights([3, 4], 1), weights([3, 4], 7)];
    try {
      return use(x, w);
    } catch (error) {
      return (error as Error).message.split('\n')[0];
    } finally {
      for (const { grad: left } of [x, w]) left?.dispose();
    }
  });
  return [found, memory.stats('cpu').allocated - before];
}

const outside = (fn: Fn) => outcome((x, w) => twice(fn(x, w)[0]!, x, w));
const inside = (fn: Fn) => {
  const y = (x: Tensor, w: Tensor) => fn(x, w)[0]!;
  const first = (x: Tensor, w: Tensor) => {
    const own = y(x, w).sum();
    const [a] = grad(own, [x]);
    own.backward();
    const [b] = grad(own, [x]);
    return [a!, b!];
  };
  const run = (each: typeof first) =>
    outcome((x, w) => {
      const found = each(x, w).map((t) => [...t.dataSync()]);
      return [found, [...x.grad!.dataSync()], w.grad && [...w.grad.dataSync()]];
    });
  return [run(first), run(toStatic(first, { strict: true }))];
};

describe.each(Object.entries(repeatable))('%s', (_, fn) => {
  it('can be differentiated again', () => {
    const expected = outside(fn) as [unknown, number];
    expect(expected[0]).not.toBeTypeOf('string');
    expect(outside(toStatic(fn, { strict: true, fallback: 'error' }))).toEqual(expected);
  });

  it('can inside of a captured function', () => {
    const [expected, found] = inside(fn) as [[unknown, number], unknown];
    expect(expected[0]).not.toBeTypeOf('string');
    expect(found).toEqual(expected);
  });
});

describe.each(Object.entries(refused))('%s', (_, fn) => {
  it('can not', () => {
    const expected = outside(fn) as [unknown, number];
    expect(expected[0]).toMatch(/^AutogradError|backward through \w+ a second time/);
    expect(outside(toStatic(fn, { strict: true, fallback: 'error' }))).toEqual(expected);
    const [eagerly, found] = inside(fn);
    expect(found).toEqual(eagerly);
  });
});

it('a recorded gradient leads on through ops that have saved nothing, where the graph is not retained', () => {
  const fns: Fn[] = [
    (x, w) => {
      const h = x.add(w);
      return [h.mul(h).sum()];
    },
    (x, w) => {
      const h = x.exp().add(w);
      return [h.mul(h).sum()];
    },
    (x, w) => [x.mul(x).mul(w).sum()],
  ];
  for (const fn of fns) {
    const use = (each: Fn) =>
      outcome((x, w) => {
        const [slope] = grad(each(x, w)[0]!, [x], { createGraph: true, retainGraph: false });
        const found = [];
        for (let i = 0; i < 2; i++) {
          try {
            slope!.sum().backward(null, { retainGraph: true });
          } catch (error) {
            found.push((error as Error).message.split('\n')[0]);
          }
          found.push(...[x.grad, w.grad].map((t) => t && [...t.dataSync()]));
        }
        return found;
      });
    expect(use(toStatic(fn, { strict: true, fallback: 'error' }))).toEqual(use(fn));
  }
});

it('what another result has used up is refused, what it has not is there', () => {
  const fn: Fn = (x, w) => {
    const h = x.add(w);
    return [h.sum(), h.mul(h).sum()];
  };
  const use = (each: Fn) =>
    outcome((x, w) => {
      const [sum, product] = each(x, w) as [Tensor, Tensor];
      sum.backward();
      product.backward();
      sum.backward();
      expect(() => product.backward()).toThrow(AutogradError);
      sum.backward();
      return [[...x.grad!.dataSync()], [...w.grad!.dataSync()]];
    });
  expect(use(toStatic(fn, { strict: true, fallback: 'error' }))).toEqual(use(fn));
});
