/* biome-ignore-all lint: what is tested is odd code */
/** Map, Set and their weak forms, in captured code. */

import { type Tensor } from '../../../../src/index.ts';
import { type Cases } from '../world.ts';

const referred = { n: 3 };
const reference = new WeakRef(referred);
const weakly = new WeakMap<object, number>();
class Counter extends Map<string, number> {
  bump(k: string) {
    this.set(k, (this.get(k) ?? 0) + 1);
  }
}

export const collections: Cases = {
  map: (_x, w) => [
    w.map.get('a'),
    w.map.has('z'),
    w.map.size,
    [...w.map],
    [...w.map.keys()],
    [...w.map.values()],
    [...w.map.entries()],
  ],
  mapWrite: (_x, w) => [w.map.set('q', w.n), w.map.delete('a'), w.map.size],
  mapForEach: (_x, w) => {
    const r: unknown[] = [];
    w.map.forEach((v, k) => r.push(k, v));
    w.set.forEach((v) => r.push(v));
    return r;
  },
  newMap: (_x, w) => [
    new Map([['a', w.n]]),
    new Map(w.map),
    new Map(Object.entries(w.object)),
    new Set(w.text),
    new Set(w.set),
    new Set(''),
  ],
  mapTensors: (x, w) => {
    const m = new Map<string, Tensor>();
    m.set('a', x.mul(w.n));
    return [m.get('a')!.add(1), m];
  },
  mapIterator: (_x, w) => {
    const it = w.map.entries();
    return [it.next(), [...it]];
  },
  setOps: (_x, w) => [
    w.set.has(2),
    w.set.add(9),
    w.set.delete(2),
    w.set.size,
    [...w.set].map((v) => v * 2),
  ],
  weakOuter: (_x, w) => [weakly.get(w), weakly.has(w), weakly.set(w, w.n).has(w)],
  weak: (_x, w) => {
    const m = new WeakMap<object, number>();
    m.set(w.object, w.n);
    const s = new WeakSet([w.object]);
    return [m.get(w.object), m.has({}), s.has(w.object)];
  },
  weakRef: (_x, w) => new WeakRef(w.object).deref() === w.object,
  weakRefOuter: (x, w) => [
    reference.deref() === referred,
    x.mul(reference.deref()!.n),
    WeakRef.prototype.deref.call(reference) === w.object,
  ],
  mapGroup: (_x, w) => {
    const m = new Map<number, number[]>();
    for (const v of w.numbers) {
      if (!m.has(v % 2)) m.set(v % 2, []);
      m.get(v % 2)!.push(v);
    }
    return m;
  },
  setFromArray: (_x, w) => [...new Set(w.numbers)],
  mapOfObjects: (_x, w) => {
    const m = new Map<object, number>([[w.object, 1]]);
    m.set(w.point, 2);
    return [m.get(w.object), m.get({}), m.size];
  },
  subclass: (_x, w) => {
    const m = new Counter();
    m.bump('a');
    m.bump('a');
    return [m.get('a'), m.size, w.n];
  },
  mapToString: (_x, w) => [
    String(w.map),
    Object.prototype.toString.call(new Set()),
    w.map.constructor === Map,
  ],
  iteratorHelpers: (_x, w) => [typeof (w.map.values() as never as { map: unknown }).map],
  mapMutatedWhile: (_x, w) => {
    const r: unknown[] = [];
    for (const [k, v] of w.map) {
      r.push(k);
      if (v === 1) w.map.set('later', 5);
    }
    return r;
  },
};
