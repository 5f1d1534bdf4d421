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

/** What Node 20 lacks. */
interface Newer extends Set<unknown> {
  union(other: unknown): Newer;
  intersection(other: unknown): Newer;
  difference(other: unknown): Newer;
  symmetricDifference(other: unknown): Newer;
  isSubsetOf(other: unknown): boolean;
  isSupersetOf(other: unknown): boolean;
  isDisjointFrom(other: unknown): boolean;
}
const setOf = (...items: unknown[]): Newer => new Set(items) as Newer;
const combined = (a: Newer, b: unknown): unknown[] => [
  a.union(b),
  a.intersection(b),
  a.difference(b),
  a.symmetricDifference(b),
  a.isSubsetOf(b),
  a.isSupersetOf(b),
  a.isDisjointFrom(b),
];
const setMethods: Cases = {
  setMethods: (_x, w) => [
    ...combined(setOf(1, w.n, 5), setOf(5, 7, w.n)),
    ...combined(setOf(1, 2), setOf(3, 2, 1, 0)),
    ...combined(setOf(3, 2, 1, 0), setOf(1, 2)),
    ...combined(setOf(), setOf(w.n)),
    ...combined(setOf(-0, NaN), setOf(NaN, 0)),
  ],
  setMethodsOuter: (_x, w) => [
    ...combined(w.set as Newer, setOf(2, w.n, 40)),
    ...combined(setOf('a', 'b', 'k'), w.map),
    ...combined(w.set as Newer, w.set),
    combined(w.set as Newer, new Map([[2, 'two']])),
  ],
  setMethodsObjects: (x, w) => {
    const [y, z] = [x.mul(2), x.mul(w.n)];
    const both = setOf(y, z, w.object).intersection(setOf(w.object, z));
    return [both.size, both.has(y), [...both].map((each) => each === z), z];
  },
};

type Grouped = (items: unknown, keyOf: (item: never, index: number) => unknown) => unknown;
const groupBy = Reflect.get(Object, 'groupBy') as Grouped;
const groups: Cases = {
  objectGroupBy: (_x, w) => [
    groupBy(w.numbers, (n: number) => (n > 1 ? 'more' : 'less')),
    groupBy(new Set(w.words), (word: string, i: number) => word.length + i),
    groupBy(w.map.keys(), () => w.mark),
    groupBy(w.numbers, (n: number) => ({ toString: () => (w.log.push(n), '__proto__') })),
    groupBy([], () => 1),
  ],
  mapGroupBy: (x, w) => {
    const made = (Reflect.get(Map, 'groupBy') as Grouped).call(
      Map,
      [x, x.mul(w.n), 0, -0, w.object],
      (item: unknown) => (typeof item === 'number' ? item : typeof item),
    ) as Map<unknown, Tensor[]>;
    return [made, made.get('object')![1]!.add(1)];
  },
};

interface Helped extends Iterator<unknown> {
  toArray(): unknown[];
  forEach(callback: (item: unknown, i: number) => void): void;
  some(callback: (item: number, i: number) => unknown): boolean;
  every(callback: (item: number, i: number) => unknown): boolean;
  find(callback: (item: number, i: number) => unknown): unknown;
  reduce(callback: (...given: number[]) => unknown, start?: unknown): unknown;
}
const iteratorMethods: Cases = {
  iteratorMethods: (x, w) => {
    const helped = (items: { values(): unknown }) => items.values() as Helped;
    const counted = function* () {
      try {
        yield 1;
        yield w.n;
        yield 3;
      } finally {
        w.log.push('closed');
      }
    };
    const each = () => counted() as unknown as Helped;
    helped(w.set).forEach((item, i) => w.log.push(item, i));
    const begun = helped(w.numbers);
    begun.next();
    return [
      helped(w.map).toArray(),
      begun.toArray(),
      begun.toArray(),
      each().toArray(),
      each().some((item) => item === w.n),
      each().every((item) => item < 2),
      each().find((item, i) => i > 0 && item > 1),
      each().find(() => false),
      helped(w.numbers).reduce((a, b, i) => a! + b! * i!),
      each().reduce((a, b) => a! * b!, 2),
      helped([x, x.mul(w.n)]).toArray(),
    ];
  },
};

interface Lazy extends Helped, IterableIterator<unknown> {
  map(callback: (item: never, i: number) => unknown): Lazy;
  filter(callback: (item: never, i: number) => unknown): Lazy;
  flatMap(callback: (item: never, i: number) => unknown): Lazy;
  take(count: unknown): Lazy;
  drop(count: unknown): Lazy;
}

/** Three items, which say when they are asked for and when the iteration is closed. */
function* logged(log: unknown[], ...items: unknown[]) {
  try {
    for (const item of items) {
      log.push('item', item);
      yield item;
    }
  } finally {
    log.push('closed');
  }
}
const lazily = (items: Iterable<unknown>): Lazy => items[Symbol.iterator]() as Lazy;

const iteratorHelpers: Cases = {
  iteratorMap: (x, w) => [
    lazily([x, x.add(w.n)])
      .map((item: Tensor, i) => item.mul(i + 2))
      .toArray(),
    [...lazily(w.map.values()).map((item) => [item, w.n])],
    Array.from(lazily(w.set).filter((_item, i) => i !== 1)),
    new Set(lazily(w.numbers).flatMap((item: number) => [item, item + 1])),
  ],
  iteratorChain: (x, w) => {
    let total = x;
    const all = lazily(logged(w.log, 1, 2, 3, 4, w.n))
      .map((item: number, i) => item * 10 + i)
      .filter((item: number) => item !== 10)
      .drop(1)
      .take(2);
    for (const item of all as Iterable<number>) {
      w.log.push('seen', item);
      total = total.mul(item);
    }
    return [total, all.next(), w.log.length];
  },
  iteratorSteps: (_x, w) => {
    const lazy = lazily(logged(w.log, 1, w.n, 3)).map((item) => [item]);
    return [lazy.next(), lazy.return!(5), lazy.return!(6), lazy.next(), w.log.length];
  },
  iteratorLeft: (_x, w) => {
    const [first] = lazily(logged(w.log, 1, w.n, 3)).filter((item: number) => item > 0);
    for (const item of lazily(logged(w.log, 4, w.n)).take(7)) {
      w.log.push(item);
      break;
    }
    return [
      first,
      lazily(logged(w.log, w.n, 8))
        .take(1)
        .toArray(),
    ];
  },
  iteratorInner: (_x, w) => {
    const inner = (item: unknown) =>
      item === 1
        ? logged(w.log, 'a', 'b')
        : { next: () => ({ done: w.log.push('next') > 0, value: 0 }) };
    return [...lazily([1, 2]).flatMap(inner)];
  },
  iteratorKinds: (_x, w) => {
    const lazy = lazily([w.n]).map((item) => item);
    const prototype = lazily([]) as { [Symbol.toStringTag]?: string };
    return [
      String(lazy),
      typeof lazy.next,
      lazy[Symbol.iterator]() === lazy,
      prototype[Symbol.toStringTag],
    ];
  },
  iteratorTaken: (_x, w) => [
    [...lazily(w.numbers).take(Number.POSITIVE_INFINITY)],
    [...lazily(w.numbers).take(1.9), ...lazily(w.numbers).drop(0.5)],
    [...lazily(w.numbers).drop(99)],
  ],
  /** These run natively. */
  iteratorThrows: (_x, w) => {
    const failing = (item: number): number => {
      if (item === w.n) throw new RangeError(`no ${item}`);
      return item;
    };
    const lazy = lazily(logged(w.log, 1, w.n, 3)).map(failing);
    try {
      return [...lazy];
    } catch (error) {
      return [String(error), lazy.next(), w.log.length];
    }
  },
  iteratorOfText: (_x, w) => {
    try {
      return [...lazily([w.text]).flatMap((item) => item)];
    } catch (error) {
      return String(error);
    }
  },
  iteratorNone: (_x, w) => [...lazily(logged(w.log, 1, w.n)).take(0)],
  iteratorOfNoCount: (_x, w) => [...lazily(w.numbers).take('x')],
  iteratorOfNoFunction: (_x, w) => [...lazily(w.numbers).map(w.n as never)],
  iteratorReturned: (x, w) => {
    const lazy = lazily([x, x.add(w.n)]).map((item: Tensor) => item.mul(2));
    return [lazy.next(), lazy];
  },
  iteratorClosedEarly: (_x, w) => {
    const lazy = lazily(logged(w.log, w.n)).map((item) => item);
    return [lazy.return!(), w.log.length];
  },
  iteratorBreaksInside: (x, w) =>
    lazily([x, x.add(w.n)])
      .map((item: Tensor) => item.mul(item.detach().sum().toArraySync() as number))
      .toArray(),
};

export const hasHelpers = Reflect.has([].values(), 'map');

const has = (object: object, key: string): boolean => Reflect.has(object, key);

export const collections: Cases = {
  ...(has(Set.prototype, 'union') ? setMethods : {}),
  ...(has(Object, 'groupBy') ? groups : {}),
  ...(has([].values(), 'toArray') ? iteratorMethods : {}),
  ...(hasHelpers ? iteratorHelpers : {}),
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
