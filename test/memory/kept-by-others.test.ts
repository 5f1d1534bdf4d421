/** A tensor from before a graph break stays while what the function has put it into does, also if its variable gets another. */

import { describe, expect, it } from 'vitest';
import { breakGraph, randn, seed, type Tensor, toStatic } from '../../src/index.ts';

class Listed extends Array<Tensor> {}
class Keyed extends Map<string, Tensor> {}
class Gathered extends Set<Tensor> {}

/** Functions that put a tensor into something, and return how to get it back. */
const holding: Readonly<Record<string, (t: Tensor) => () => Tensor>> = {
  'an array': (t) => {
    const own = [t];
    return () => own[0]!;
  },
  'an array of a class': (t) => {
    const own = Listed.of(t);
    return () => own[0]!;
  },
  'a Map of a class': (t) => {
    const own = new Keyed([['a', t]]);
    return () => own.get('a')!;
  },
  'a Set of a class': (t) => {
    const own = new Gathered([t]);
    return () => [...own][0]!;
  },
  'an iterator': (t) => {
    const own = [t][Symbol.iterator]();
    return () => own.next().value as Tensor;
  },
  'an object with an accessor': (t) => {
    const own = {
      t,
      get twice() {
        return this.t;
      },
    };
    return () => own.twice;
  },
  'a bound function': (t) => {
    const own = ((each: Tensor) => each).bind(null, t);
    return () => own();
  },
  'an error': (t) => {
    const own = Object.assign(new Error('of a tensor'), { t });
    return () => own.t;
  },
};

const kept: (() => Tensor)[] = [];

describe('memory/kept-by-others', () => {
  it.each(Object.entries(holding))('%s', (_, hold) => {
    const fn = (x: Tensor) => {
      let t = x.mul(2);
      breakGraph();
      t = (() => {
        kept.push(hold(t));
        return t.add(1);
      })();
      breakGraph();
      return t.mul(3);
    };
    seed(1);
    const captured = toStatic(fn);
    for (let call = 0; call < 3; call++) {
      const x = randn([2, 3]);
      const seen = [fn, captured].map((run) => {
        kept.length = 0;
        const result = run(x);
        return [result, kept[0]!()].map((each) => [...each.dataSync()]);
      });
      expect(seen[1]).toEqual(seen[0]);
    }
    expect(captured.stats().breaks).not.toEqual([]);
  });
});
