/** Symbols, WeakMaps and WeakSets that captured code makes: others in each run. */

import { it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../same-as-eager.ts';
import { expectOneGraph } from './every-mode.ts';

const left: unknown[] = [];

const worlds: Readonly<Record<string, () => World>> = {
  'symbols as keys, in results': () => ({
    fn: (x: Tensor) => {
      const [k, other] = [Symbol('k'), Symbol('k')];
      const object = { [k]: x.mul(2), a: 1, [other]: 3 };
      Object.defineProperty(object, other, { enumerable: false });
      return [object[k], object, k, { ...object }, Reflect.ownKeys(object), k in object];
    },
    args: () => [values([2])],
  }),
  'symbols compared, described and thrown': () => ({
    fn: (x: Tensor) => {
      const Kind = { a: Symbol('a'), b: Symbol('b'), none: Symbol() };
      const scaled = (kind: symbol) => {
        switch (kind) {
          case Kind.a:
            return x.mul(2);
          case Kind.b:
            return x.mul(3);
          default:
            return x;
        }
      };
      const texts = [String(Kind.a), Kind.b.description, Kind.none.description, typeof Kind.a];
      const isOne = [Kind.a === Kind.b, Kind.a !== Symbol.iterator, Symbol.keyFor(Kind.a)];
      try {
        throw Kind.b;
      } catch (error) {
        return [scaled(error as symbol), scaled(Kind.a), texts, isOne];
      }
    },
    args: () => [values([2])],
  }),
  'each run has its own': () => {
    const all: symbol[] = [];
    const objects: object[] = [];
    return {
      fn: (x: Tensor) => {
        const k = Symbol('s');
        all.push(k);
        objects.push({ [k]: k });
        return new Map([[k, x.mul(2)]]).get(k);
      },
      args: () => [values([2])],
      state: () => {
        const keys = objects.flatMap((each) => Object.getOwnPropertySymbols(each));
        return [new Set(all).size, keys.every((key, i) => key === all[i])];
      },
    };
  },
  'a cache by object': () => ({
    fn: (x: Tensor, ys: readonly Tensor[]) => {
      const cache = new WeakMap<Tensor, Tensor>();
      const exp = (y: Tensor) => {
        const known = cache.get(y);
        if (known) return known;
        const made = y.exp();
        cache.set(y, made);
        return made;
      };
      return [ys.map(exp), cache.has(x), cache.delete(x), cache.has(x), String(cache)];
    },
    args: () => {
      const x = values([2]);
      return [x, [x, values([2], 1), x]];
    },
  }),
  'a WeakRef, and what it rejects': () => {
    const kept = { n: 2 };
    return {
      fn: (x: Tensor) => {
        const made = x.mul(2);
        const refs = [new WeakRef(made), new WeakRef(kept)] as const;
        const text = [String(refs[0]), refs[0] instanceof WeakRef, refs[0].deref() === made];
        let message = '';
        try {
          new WeakRef(1 as unknown as object);
        } catch (error) {
          message = (error as Error).message;
        }
        const own = { ref: null as WeakRef<object> | null };
        own.ref = new WeakRef<object>(own);
        const sum = refs[0].deref()!.add(refs[1].deref()!.n);
        return [sum, text, message, own, own.ref.deref() === own, refs[1].deref() === kept];
      },
      args: () => [values([2])],
    };
  },
  'weak collections in objects, and what they reject': () => {
    const state: Record<string, unknown> = {};
    return {
      fn: (x: Tensor) => {
        const key = {};
        const map = new WeakMap<object, unknown>([[key, x.mul(2)]]);
        map.set(map, key);
        const set = new WeakSet([key]);
        Object.assign(state, { key, map, set, size: Reflect.get(map, 'size') });
        try {
          new WeakSet([1 as unknown as object]);
        } catch (error) {
          state.message = (error as Error).message;
        }
        try {
          map.set('a' as unknown as object, 1);
        } catch (error) {
          state.other = (error as Error).message;
        }
        return [map instanceof WeakMap, set.has(key), x.add(1)];
      },
      args: () => [values([2])],
      state: () => {
        const { key, map, set, ...rest } = state as {
          key: object;
          map: WeakMap<object, unknown>;
          set: WeakSet<object>;
        };
        return [map?.get(key), map?.get(map) === key, set?.has(key), set?.has(map), rest];
      },
    };
  },
};

for (const [name, make] of Object.entries(worlds)) it(name, () => expectOneGraph(make));

it('both across a break', () => {
  expectSameAsEager(() => ({
    fn: (x: Tensor) => {
      const [k, key] = [Symbol('k'), {}];
      const object = { [k]: x.mul(2) };
      const map = new WeakMap([[key, x.mul(3)]]);
      left.push(process.uptime());
      return [object[k]!.add(map.get(key)!), object];
    },
    args: () => [values([2])],
  }));
});

it('chosen by the program', () => {
  for (const mode of [{ capture: 'auto' }, { fullGraph: true }] as const) {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          const [a, b, key] = [Symbol('a'), Symbol('b'), {}];
          const map = new WeakMap<object, Tensor>();
          const isPositive = x.sum().itemSync() > 0;
          const kind = isPositive ? a : b;
          if (isPositive) map.set(key, x.mul(2));
          else map.set(key, x.mul(3));
          return [kind === a ? x.mul(5) : x.mul(7), map.get(key)];
        },
        args: (call) => [values([2], call * 3)],
      }),
      { ...mode, check: 2 },
    );
  }
});
