/**
 * A tensor that the function has created keeps the gradient state of its handle where a branch or loop merges it with
 * another one: whether it is a leaf, its `.grad`, and whether backward sets that.
 */

import { describe, expect, it } from 'vitest';
import { FullGraphError, grad, type Tensor, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../../trace/same-as-eager.ts';

const isPositive = (x: Tensor) => x.sum().itemSync() > 0;

const leafOf = (x: Tensor) => x.detach().mul(1).requiresGrad_();

type Body = (x: Tensor, w: Tensor, log: unknown[]) => unknown;

const bodies: Readonly<Record<string, Body>> = {
  'a leaf or a result': (x) => {
    const leaf = leafOf(x);
    return isPositive(x) ? leaf : leaf.mul(2);
  },
  'a leaf or a pre-existing one': (x, w) => {
    const leaf = leafOf(x);
    return isPositive(x) ? leaf : w;
  },
  'one of two leaves, beside one of them': (x) => {
    const [a, b] = [leafOf(x), leafOf(x)];
    return [isPositive(x) ? a : b, a];
  },
  'a leaf on both paths, one of which throws and catches': (x, _w, log) => {
    const leaf = leafOf(x);
    try {
      if (isPositive(x)) throw new RangeError('positive');
    } catch (error) {
      log.push((error as Error).name);
    }
    return leaf;
  },
  'a leaf that two branches merge': (x, w) => {
    const [a, b] = [leafOf(x), leafOf(x.mul(2))];
    let c = a;
    if (isPositive(x)) c = b;
    if (x.select(0, 0).sum().itemSync() > 0) c = x.mul(w);
    return { c };
  },
  'a leaf that a loop may leave as it is': (x, w) => {
    let y = leafOf(x);
    for (let i = 0; i < 2 && x.sum().itemSync() > i; i++) y = y.mul(w);
    return y;
  },
  'a leaf with a .grad': (x) => {
    const leaf = leafOf(x);
    leaf.mul(leaf).sum().backward();
    return isPositive(x) ? leaf : leaf.mul(2);
  },
  'a leaf that has a .grad on one path': (x, w) => {
    const leaf = leafOf(x);
    (isPositive(x) ? leaf : x).mul(w).sum().backward();
    return leaf;
  },
  'a leaf with a .grad on one path, merged afterwards': (x, w) => {
    const leaf = leafOf(x);
    (isPositive(x) ? leaf : x).mul(w).sum().backward();
    return x.select(0, 0).sum().itemSync() > 0 ? leaf : leaf.mul(2);
  },
  'a result that keeps its gradient': (x, w) => {
    const y = x.mul(w);
    y.retainGrad();
    return isPositive(x) ? y : y.mul(2);
  },
  'isLeaf, read': (x, w, log) => {
    const leaf = leafOf(x);
    const y = isPositive(x) ? leaf : x.mul(w);
    log.push(y.isLeaf);
    return y;
  },
};

/** What one program can't be. */
const refused = ['a result that keeps its gradient', 'isLeaf, read'];

const makeWorld = (body: Body) => (): World => {
  const w = weights([2, 3], 1);
  const log: unknown[] = [];
  return {
    fn: (x: Tensor) => body(x, w, log),
    args: (call) => {
      const x = values([2, 3], call);
      // Each path is the first of a function, too.
      return [call % 2 === 0 ? x.abs() : x.abs().neg()];
    },
    state: () => [w, log],
  };
};

describe.each([
  ['one program', { fullGraph: true }],
  ['conversions', { capture: 'auto' }],
  ['graph breaks', {}],
] as const)('%s', (_, options) => {
  it.each(Object.entries(bodies))('%s', (name, body) => {
    const make = makeWorld(body);
    if (refused.includes(name) && 'fullGraph' in options) {
      const { fn, args } = make();
      expect(() => toStatic(fn, options)(...args!(0))).toThrow(FullGraphError);
    } else expectSameAsEager(make, { ...options, calls: 4 });
  });
});

describe('the result of a graph that the function has freed', () => {
  const fn = (x: Tensor, w: Tensor) => {
    const h = x.mul(w);
    const [inner] = grad(h.mul(w).sum(), [w]);
    return [h.mul(w), h, inner!];
  };

  // Eagerly the freed part isn't reached: one history stands for the whole graph of a result.
  it('refuses a gradient of another result, and never leaves it out', () => {
    const captured = toStatic(fn);
    for (let call = 0; call < 2; call++) {
      const [y, h] = captured(values([2, 3], call), weights([2, 3], 1)) as [Tensor, Tensor];
      expect(() => grad(y.sum(), [h])).toThrow('backward through mul a second time');
      expect(() => y.sum().backward(null, { inputs: [h] })).toThrow('a second time');
    }
  });
});

describe('a graph that an earlier backward has freed', () => {
  const choose = (x: Tensor, w: Tensor, other: Tensor) => {
    const h = x.mul(w);
    return isPositive(x) ? h : other;
  };

  it.each([{ fullGraph: true }, { capture: 'auto' }] as const)(
    'is missed only on the path that takes it, with %o',
    (options) => {
      const capturedSquare = toStatic((w: Tensor) => [w.mul(w), w.mul(2)], options);
      const captured = toStatic(choose, options);
      const squares = [(w: Tensor) => w.mul(w), (w: Tensor) => capturedSquare(w)[0]!];
      for (const square of squares) {
        for (const sign of [1, -1, 1]) {
          const gradientOf = (fn: typeof choose) => {
            const w = weights([2, 3], 1);
            const other = square(w);
            other.sum().backward();
            fn(values([2, 3]).abs().mul(sign), w, other)
              .sum()
              .backward();
            return [...w.grad!.dataSync()];
          };
          if (sign > 0) expect(gradientOf(captured)).toEqual(gradientOf(choose));
          else expect(() => gradientOf(captured)).toThrow('through mul a second time');
        }
      }
    },
  );
});
