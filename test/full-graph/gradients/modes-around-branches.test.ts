/** Branches and loops inside `noGrad` and `enableGrad`: a result has the history of the path, whatever the mode around the decision is. */

import { describe, expect, it } from 'vitest';
import { enableGrad, noGrad, type Tensor, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../../trace/same-as-eager.ts';

const sum = (x: Tensor) => x.sum().itemSync();

/** `h`: computed from the weight before. */
type Body = (x: Tensor, h: Tensor, w: Tensor) => Tensor;

const bodies: Readonly<Record<string, Body>> = {
  'recorded without a decision': (x, _h, w) => noGrad(() => enableGrad(() => x.mul(w))),
  'a value from before on one path': (x, h) => noGrad(() => (sum(x) > 0 ? h : x)),
  'a value from before on both paths': (x, h, w) => noGrad(() => (sum(x) > 0 ? h : w)),
  'a leaf on one path': (x, _h, w) => noGrad(() => (sum(x) > 0 ? w : x)),
  'one that is recorded on one path': (x, h) =>
    noGrad(() => (sum(x) > 0 ? enableGrad(() => h.mul(2)) : h.mul(3))),
  'one that is recorded on no path': (x, h) => noGrad(() => (sum(x) > 0 ? h.mul(2) : h.mul(3))),
  'a value from before that a handler returns': (x, h) =>
    noGrad(() => {
      try {
        if (sum(x) > 0) throw new RangeError('positive');
        return x;
      } catch {
        return enableGrad(() => h.mul(2));
      }
    }),
  'a branch in a branch, of another mode each': (x, h, w) =>
    noGrad(() => {
      if (sum(x) < 0) return x.mul(w);
      return enableGrad(() => (sum(x) > 1 ? noGrad(() => h.mul(w)) : h.mul(w)));
    }),
  'a loop of no iteration on one path': (x, h) =>
    noGrad(() => {
      let y = h;
      for (let i = 0; i < 3 && sum(x) * i < 1 && sum(x) > 0; i++) y = y.mul(2);
      return y;
    }),
  'a loop that records': (x, h, w) =>
    noGrad(() => {
      let [y, n] = [h, 0];
      while (sum(y.abs()) < 4 && n++ < 5) y = enableGrad(() => y.mul(2).add(w));
      return y;
    }),
  'an element at a number of the program': (x, h, w) =>
    noGrad(() => [h, w, x][sum(x) > 0 ? 0 : 1]!),
  'a list, of which one is taken': (x, h) =>
    noGrad(() => {
      const all = [x];
      if (sum(x) > 0) all.push(h);
      return all.at(-1)!;
    }),
  'a field that a branch writes': (x, h) => {
    const box = { t: x };
    noGrad(() => {
      if (sum(x) > 0) box.t = h;
    });
    return box.t;
  },
  'gradients disabled inside of a branch': (x, h) => (sum(x) > 0 ? noGrad(() => h.mul(2)) : h),
};

describe('what a branch in another gradient mode returns', () => {
  it.each(Object.entries(bodies))('%s', (_name, body) => {
    for (const mode of [{}, { capture: 'auto' }, { fullGraph: true }] as const) {
      for (const around of [<T>(run: () => T) => run(), noGrad, enableGrad]) {
        const make = (): World => {
          const w = weights([3], 1);
          return {
            fn: (x: Tensor) => {
              const h = x.mul(w);
              const y = body(x, h, w);
              return [y.mul(3), y.requiresGrad, y];
            },
            args: (call) => [
              values([3], 2)
                .abs()
                .mul(call % 2 ? 1 : -1),
            ],
            state: () => w,
          };
        };
        const { graphs } = expectSameAsEager(make, { calls: 4, around, ...mode });
        expect(graphs).toBeGreaterThan(0);
      }
    }
  });
});

describe('isLeaf of a tensor that is a leaf on one path', () => {
  const fn = (w: Tensor) => (x: Tensor) => {
    const y = sum(x) > 0 ? w : x.mul(w);
    return [y.mul(3), y.isLeaf];
  };

  it.each([{}, { capture: 'auto' }] as const)('is what it is eagerly: %j', (mode) => {
    const make = (): World => ({
      fn: fn(weights([3], 1)),
      args: (call) => [
        values([3], 2)
          .abs()
          .mul(call % 2 ? 1 : -1),
      ],
    });
    expectSameAsEager(make, { calls: 4, ...mode });
  });

  it('keeps the function from being one program', () => {
    const captured = toStatic(fn(weights([3], 1)), { fullGraph: true });
    expect(() => captured(values([3]))).toThrow(
      /isLeaf of a tensor that some paths leave as a leaf/,
    );
  });
});
