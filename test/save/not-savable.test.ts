/** Everything that keeps a function from being saved is named: one case per reason. */

import { describe, expect, it } from 'vitest';
import {
  CaptureError,
  type LoadedProgram,
  load,
  ones,
  save,
  type Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

class Point {
  readonly x: Tensor;
  constructor(x: Tensor) {
    this.x = x;
  }
}

const outerMap = new Map<string, number>();
const outerArray: unknown[] = [];
const outerState: { count?: number } = { count: 1 };
const outerSymbol = Symbol('outer');
const outerWeight = ones([2]);
const outerObject = { kind: 'an object' };

function weighted(this: { readonly weight: Tensor }, x: Tensor): Tensor {
  return x.mul(this.weight);
}

type Fn = (x: Tensor, other: never) => unknown;

interface Case {
  readonly what: string;
  readonly fn: Fn;
  readonly other?: unknown;
  readonly options?: object;
  readonly reason: RegExp;
}

const cases: readonly Case[] = [
  {
    what: 'an instance of a class',
    fn: (x) => new Point(x.mul(2)),
    reason: /an object of a class/,
  },
  { what: 'a symbol', fn: (x) => [x.mul(2), outerSymbol], reason: /symbol/ },
  { what: 'a function that it makes', fn: (x) => () => x, reason: /holds a closure/ },
  {
    what: 'a pre-existing object',
    fn: (x) => [x.mul(2), outerObject],
    reason: /outerObject, which is an object/,
  },
  { what: 'a pre-existing function', fn: (x) => [x.mul(2), parseInt], reason: /parseInt|function/ },
  {
    what: 'a property that may be missing',
    fn: (x) => {
      const out: { y?: Tensor } = {};
      if (x.sum().itemSync() > 0) out.y = x.mul(2);
      return out;
    },
    reason: /may be missing/,
  },
  {
    what: 'a list of structures',
    fn: (x) => {
      const out: { y: Tensor }[] = [];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        out.push({ y });
      }
      return out;
    },
    reason: /array of arrays or objects that grew in a loop/,
  },
  {
    what: 'a property outside that it deletes',
    fn: (x) => {
      delete outerState.count;
      return x.mul(2);
    },
    reason: /deletes count/,
  },
  {
    what: 'an array outside that it changes',
    fn: (x) => {
      outerArray.push(1);
      return x.mul(2);
    },
    reason: /outerArray, which is an object|elements of a pre-existing array/,
  },
  {
    what: 'a Map outside that it changes',
    fn: (x) => {
      outerMap.set('n', 1);
      return x.mul(2);
    },
    reason: /it changes outerMap, a pre-existing Map or Set/,
  },
  {
    what: 'gradients that it asks for',
    fn: (x) => {
      outerWeight.requiresGrad_();
      return x.mul(outerWeight);
    },
    reason: /outerWeight is a leaf without hooks|which tensors gradients are kept for/,
  },
  {
    what: 'a tensor that it disposes of on one way',
    fn: (x) => {
      const y = x.mul(2);
      const z = x.add(outerWeight);
      if (y.sum().itemSync() < 0) z.dispose();
      return [y, z];
    },
    reason: /disposes of a tensor on one path only/,
  },
  {
    what: 'a function among the arguments',
    fn: (x, other) => (other as (x: Tensor) => Tensor)(x),
    other: (x: Tensor) => x.mul(2),
    reason: /relies on/,
  },
  {
    what: 'an instance among the arguments',
    fn: (x, other) => x.mul((other as Map<string, number>).get('n')!),
    other: new Map([['n', 2]]),
    reason: /relies on|not a plain property of an argument/,
  },
  {
    what: 'a graph that is too small to be compiled',
    fn: (x) => x.mul(2),
    options: { fullGraph: false, minGraphSize: 5 },
    reason: /smaller than minGraphSize/,
  },
  {
    what: 'a graph that ends',
    fn: (x) => (x.sum().itemSync() > 0 ? x.mul(2) : x),
    options: { fullGraph: false },
    reason: /its graph ends/,
  },
];

describe('what a file can not hold', () => {
  it.each(cases)('$what', async ({ fn, other, options, reason }) => {
    const captured = toStatic(fn, { fullGraph: true, ...options });
    tidy(() => void captured(ones([2]), other as never));
    const error: unknown = await save(captured as never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CaptureError);
    const { message, remedy } = error as CaptureError;
    expect(message).toMatch(/^save: .*can't be saved as it was captured/);
    expect(message).toMatch(reason);
    expect(remedy).not.toBe('');
  });

  it('a generator function', async () => {
    const f = toStatic(function* steps(x: Tensor) {
      yield x.mul(2).sum();
      yield x.sum();
    });
    tidy(() => void [...f(ones([2]))]);
    await expect(save(f)).rejects.toThrow(/steps can't be saved[\s\S]*is a generator function/);
  });

  it('surroundings that have changed since', async () => {
    const box = { mode: 'a' };
    const f = toStatic((x: Tensor) => (box.mode === 'a' ? x.mul(2) : x), { fullGraph: true });
    tidy(() => void f(ones([2])));
    box.mode = 'b';
    await expect(save(f)).rejects.toThrow(
      /nothing is compiled[\s\S]*have changed since: box\.mode === "a" doesn't hold[\s\S]*compile nothing new/,
    );
    tidy(() => void f(ones([2])));
    await save(f);
  });

  it('a counter that decides, until its calls compile nothing new', async () => {
    let count = 0;
    let scale = 1;
    const f = toStatic(
      (x: Tensor) => {
        if (++count === 3) {
          scale *= 2;
          count = 0;
        }
        return x.mul(scale);
      },
      { fullGraph: true },
    );
    const call = () => tidy(() => void f(ones([2])));
    call();
    call();
    await expect(save(f)).rejects.toThrow(/call it until calls compile nothing new/);
    for (let i = 0; i < 8; i++) call();
    const before = f.stats().translations;
    for (let i = 0; i < 3; i++, call()) await save(f);
    expect(f.stats().translations).toBe(before);
  });

  it('a method that is saved without its object', async () => {
    const layer = { weight: ones([2]), run: toStatic(weighted, { fullGraph: true }) };
    tidy(() => void layer.run(ones([2])));
    await expect(save(layer.run)).rejects.toThrow(CaptureError);
    await expect(save(layer.run)).rejects.toThrow(
      /it reads this\.weight, and has no object outside of calls/,
    );
    const bound = toStatic(weighted.bind(layer), { fullGraph: true });
    tidy(() => void bound(ones([2])));
    const loaded = (await load(await save(bound))) as LoadedProgram;
    expect((loaded(ones([2])) as Tensor).toArraySync()).toEqual([1, 1]);
  });

  it('a program whose weight is not there any more; the others are saved', async () => {
    const model: { layer: { weight: Tensor } | null } = { layer: { weight: ones([2]) } };
    const fn = (x: Tensor) => (model.layer ? x.mul(model.layer.weight) : x.add(1));
    const f = toStatic(fn, { fullGraph: true });
    for (const rows of [1, 3]) tidy(() => void f(ones([rows, 2])));
    model.layer = null;
    await expect(save(f)).rejects.toThrow(/nothing is compiled[\s\S]*outer variables have changed/);
    tidy(() => void f(ones([1, 2])));
    const loaded = (await load(await save(f))) as LoadedProgram;
    expect((loaded(ones([1, 2])) as Tensor).toArraySync()).toEqual([[2, 2]]);
    expect(Object.keys(loaded.state())).toEqual([]);
  });
});
