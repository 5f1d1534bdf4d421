/* biome-ignore-all lint: what is tested is odd code */
/** Object and Reflect, in captured code. */

import { type Tensor } from '../../../../src/index.ts';
import { type Cases, caught, Point, Stack } from '../world.ts';

const hidden = Object.defineProperty({ a: 1, b: 2 }, Symbol('hidden'), { value: 3 });

export const objects: Cases = {
  listedNamespaces: (x, w) => [
    Object.keys(Math),
    Object.values(JSON).length + w.n,
    Object.entries(Reflect),
    { ...Math, n: w.n },
    x.mul(Object.values(Math).length + 1),
  ],
  listedBesideSymbol: (_x, w) => {
    const names: string[] = [];
    for (const name in hidden) names.push(name);
    const copy = { ...hidden, n: w.n };
    return [Object.keys(hidden), copy, Object.getOwnPropertySymbols(copy), names];
  },
  keys: (_x, w) => [
    Object.keys(w.object),
    Object.values(w.object),
    Object.entries(w.object),
    Object.keys(w.frozen),
  ],
  keysOfString: (_x, w) => [
    Object.keys(w.text),
    Object.entries('ab'),
    Object.values('ab'),
    Object.keys(1 as never),
  ],
  keysOfNull: () => caught(() => Object.keys(null as never)),
  keysOfInstance: (_x, w) => [
    Object.keys(w.point),
    Object.entries(w.point),
    Object.keys(new Point(1)),
  ],
  keysOfAccessor: (_x, w) => [
    Object.keys(w.accessor),
    Object.values(w.accessor),
    Object.entries(w.accessor),
  ],
  keysOfCollections: (_x, w) => [Object.keys(w.map), Object.keys(() => 1), Object.keys(w.tensors)],
  assign: (_x, w) => [
    Object.assign({}, w.object, null, { z: w.n }),
    Object.assign(w.object, { q: 1 }),
    Object.assign({}, w.accessor),
    Object.assign({}, 'ab', 1, [3]),
  ],
  assignSetter: (_x, w) => Object.assign(w.accessor, { g: 7 }),
  assignSymbols: (_x, w) => Object.assign({}, { [w.mark]: 1 }),
  spreadAll: (_x, w) => [
    { ...w.object, x: 1 },
    { ...w.accessor },
    { ...w.numbers },
    { ...w.point },
    { ...(null as unknown as object), ...(1 as unknown as object) },
    { ...('ab' as unknown as object) },
  ],
  fromEntries: (_x, w) => [
    Object.fromEntries(w.map),
    Object.fromEntries([['a', w.n]]),
    Object.fromEntries(Object.entries(w.object).map(([k, v]) => [k + '!', v])),
    Object.fromEntries(new Set([['q', 1]])),
  ],
  create: (_x, w) => [
    Object.create(null),
    Object.create({ k: w.n }).k,
    Object.create(Point.prototype) instanceof Point,
    Object.create(w.point),
  ],
  createProps: (_x, w) =>
    Object.create({}, { a: { value: w.n, enumerable: true }, b: { get: () => 1 } }),
  createMethods: (x) => {
    const base = {
      m() {
        return x.mul((this as never as { k: number }).k);
      },
    };
    const o = Object.create(base) as { k: number; m(): Tensor };
    o.k = 3;
    return o.m();
  },
  prototypeOf: (_x, w) => [
    Object.getPrototypeOf(w.point) === Point.prototype,
    Object.getPrototypeOf({}) === Object.prototype,
    Object.getPrototypeOf([]) === Array.prototype,
    Object.getPrototypeOf(Object.create(null)),
    Object.getPrototypeOf(new Point(1)) === Point.prototype,
    Object.getPrototypeOf(w.text) === String.prototype,
    Object.getPrototypeOf(Stack) === Array,
  ],
  setPrototypeOf: (_x, w) => {
    const o = { a: 1 };
    Object.setPrototypeOf(o, { b: 2 });
    return [(o as never as { b: number }).b, o];
  },
  setPrototypeOfFixed: (_x, w) => {
    const above = { b: w.n };
    const fixed = [
      Object.freeze({ a: 1 }),
      Object.seal(Object.create(null) as object),
      Object.preventExtensions(Object.create(above) as object),
    ];
    const tried = [null, {}, above, Object.prototype, w.object];
    return fixed.flatMap((each) => tried.map((other) => Reflect.setPrototypeOf(each, other)));
  },
  setPrototypeOfOuter: (_x, w) => Object.setPrototypeOf(w.object, null) as unknown,
  isPrototype: (_x, w) => [
    Point.prototype.isPrototypeOf(w.point),
    Object.prototype.isPrototypeOf.call(Array.prototype, []),
  ],
  isFrozen: (_x, w) => [
    Object.isFrozen(w.frozen),
    Object.isFrozen(w.object),
    Object.isFrozen({}),
    Object.isSealed(w.frozen),
    Object.isExtensible(w.object),
    Object.isFrozen(1 as never),
    Object.isFrozen('a'),
  ],
  freeze: (_x, w) => {
    const o = Object.freeze({ a: w.n });
    return [Object.isFrozen(o), o, Object.isFrozen(Object.freeze(1))];
  },
  defineFixed: (x, w) => {
    const o = Object.freeze({ a: 1, x });
    Object.defineProperty(o, 'a', { value: 1, writable: false });
    Object.defineProperty(o, 'x', { value: x });
    const sealed = Object.seal({ a: w.n });
    Object.defineProperty(sealed, 'a', { value: 7, writable: false });
    return [
      Reflect.defineProperty(o, 'a', { value: 1 }),
      Reflect.defineProperty(o, 'a', { value: 2 }),
      Reflect.defineProperty(o, 'b', { value: 2 }),
      Object.getOwnPropertyDescriptor(sealed, 'a'),
      o,
      sealed,
    ];
  },
  freezeAgain: (_x, w) => [Object.freeze(w.frozen), Object.isFrozen(w.frozen)],
  freezeOuter: (_x, w) => Object.isFrozen(Object.freeze(w.map)),
  writeFrozen: (_x, w) => {
    const o = Object.freeze({ a: w.n });
    return caught(() => {
      (o as { a: number }).a = 2;
    });
  },
  deleteSealed: (_x, w) => {
    const o = Object.seal({ a: w.n });
    return caught(() => {
      delete (o as { a?: number }).a;
    });
  },
  extendFixed: (_x, w) => {
    const o = Object.preventExtensions({ a: w.n });
    return caught(() => {
      (o as { b?: number }).b = 3;
    });
  },
  freezeList: (_x, w) => {
    const a = Object.freeze([w.n, 2]);
    return [a, a.map((v) => v + 1), Object.isFrozen(a), Object.isExtensible(a)];
  },
  freezeArray: (_x, w) => {
    const a = Object.freeze([w.n, 2]);
    return [a.map((v) => v + 1), caught(() => (a as number[]).push(1)), a];
  },
  seal: (_x, w) => {
    const o = Object.seal({ a: w.n });
    o.a = 3;
    return [o, Object.isSealed(o), Object.isFrozen(o)];
  },
  preventExtensions: (_x, w) => {
    const o = Object.preventExtensions({ a: w.n });
    return [Object.isExtensible(o), o];
  },
  defineProperty: (x, w) => {
    const o = Object.defineProperty({}, 'k', {
      value: w.n,
      enumerable: true,
      writable: true,
      configurable: true,
    }) as { k: number };
    return [x.mul(o.k), o];
  },
  definePropertyHidden: (_x, w) => {
    const o = Object.defineProperty({ a: 1 }, 'k', { value: w.n }) as unknown as { k: number };
    return [o.k, Object.keys(o), { ...o }, o];
  },
  definePropertyGetter: (x, w) => {
    const o = Object.defineProperty({}, 'k', {
      get() {
        w.log.push('k');
        return x.mul(2);
      },
    }) as { k: Tensor };
    return [o.k, o];
  },
  defineProperties: (_x, w) =>
    Object.defineProperties({}, { a: { value: w.n, enumerable: true }, b: { value: 2 } }),
  definePropertyOuter: (_x, w) =>
    Object.defineProperty(w.object, 'hidden', { value: w.n, configurable: true }),
  getOwnPropertyNames: (_x, w) => [
    Object.getOwnPropertyNames(w.object),
    Object.getOwnPropertyNames([1]),
    Object.getOwnPropertyNames({ a: 1 }),
    Object.getOwnPropertyNames('ab'),
  ],
  getOwnPropertyDescriptor: (_x, w) => [
    Object.getOwnPropertyDescriptor(w.object, 'a'),
    Object.getOwnPropertyDescriptor(w.frozen, 'k'),
    Object.getOwnPropertyDescriptor({ a: 1 }, 'a'),
    Object.getOwnPropertyDescriptor([1], 'length'),
    Object.getOwnPropertyDescriptor({}, 'a'),
  ],
  getOwnPropertyDescriptors: (_x, w) => Object.getOwnPropertyDescriptors({ a: w.n, b: 2 }),
  getOwnPropertySymbols: (_x, w) => [
    Object.getOwnPropertySymbols(w.object),
    Object.getOwnPropertySymbols({ [w.mark]: 1 }),
  ],
  hasOwnKeys: (_x, w) => [
    Object.hasOwn(w.object, 'b'),
    w.object.hasOwnProperty('q'),
    Object.prototype.hasOwnProperty.call(w.object, 'a'),
    Object.hasOwn({ a: 1 }, 'a'),
    Object.hasOwn(w.numbers, 'length'),
    Object.hasOwn('ab' as never, 1),
    Object.hasOwn(w.object, w.mark),
    w.object.propertyIsEnumerable('a'),
  ],
  is: (_x, w) => [
    Object.is(w.n, 2),
    Object.is(0, -0),
    Object.is(NaN, NaN),
    Object.is(w.object, w.object),
    Object.is(w.tensors[0], w.tensors[1]),
  ],
  toStringTags: (_x, w) => [
    Object.prototype.toString.call([]),
    Object.prototype.toString.call(w.map),
    Object.prototype.toString.call(null),
    Object.prototype.toString.call(w.object),
    w.object.toString(),
    Object.prototype.toString.call(1),
    Object.prototype.toString.call(() => 1),
  ],
  valueOfItself: (_x, w) => [w.object.valueOf() === w.object, { a: 1 }.valueOf()],
  objectCall: (_x, w) => [
    Object(w.object) === w.object,
    Object({ a: 1 }),
    Object(null),
    new Object(),
  ],
  groupBy: (_x, w) => typeof (Object as never as { groupBy: unknown }).groupBy + w.n,
  reflectGet: (_x, w) => [
    Reflect.get(w.object, 'a'),
    Reflect.has(w.object, 'b'),
    Reflect.ownKeys(w.object),
    Reflect.ownKeys([1]),
    Reflect.getPrototypeOf(w.point) === Point.prototype,
    Reflect.get(w.accessor, 'g'),
  ],
  reflectGetFor: (x, w) => {
    const made = {
      get own() {
        return (this as unknown as { n: number }).n;
      },
      plain: 1,
    };
    const receiver = { n: w.n };
    return [
      x.mul(Reflect.get(made, 'own', receiver)),
      Reflect.get(made, 'plain', receiver),
      Reflect.get(Object.create(made), 'own', receiver),
      Reflect.get(made, 'none', receiver),
      Reflect.get(w.accessor, 'g', { plain: w.n }),
      Reflect.get(w.point, 'double', { x: w.n }),
      Reflect.get(w.object, 'a', receiver),
      Reflect.get(made, 'plain', undefined),
    ];
  },
  reflectSet: (_x, w) => [
    Reflect.set(w.object, 'new', w.n),
    w.object,
    Reflect.deleteProperty(w.object, 'a'),
    Reflect.set({ a: 1 }, 'a', 2),
  ],
  reflectSetFails: (_x, w) => Reflect.set(w.frozen, 'k', 2),
  reflectSetFailsOnMade: (_x, w) => {
    const [frozen, sealed] = [Object.freeze({ n: w.n }), Object.seal({ n: w.n })];
    const list = Object.freeze([w.n]);
    const own = {
      get only() {
        return w.n;
      },
    };
    return [
      Reflect.set(frozen, 'n', 2),
      Reflect.set(frozen, Symbol.iterator, 2),
      Reflect.set(sealed, 'n', 2),
      Reflect.set(sealed, 'more', 2),
      Reflect.set(list, 0, 2),
      Reflect.set(list, 1, 2),
      Reflect.set(own, 'only', 2),
      Reflect.set(Object.preventExtensions({}), 'more', 2),
      sealed,
    ];
  },
  reflectApply: (x, w) => [
    Reflect.apply((k: number) => x.mul(k), null, [w.n]),
    Reflect.apply(Math.max, null, w.numbers),
    Reflect.apply(Array.prototype.map, w.numbers, [(v: number) => v + 1]),
  ],
  reflectConstruct: (_x, w) => [
    Reflect.construct(Point, [w.n]),
    Reflect.construct(Map, [[['a', w.n]]]),
  ],
  reflectDefine: (_x, w) => {
    const o = {};
    return [
      Reflect.defineProperty(o, 'a', { value: w.n, enumerable: true }),
      o,
      Reflect.isExtensible(o),
      Reflect.getOwnPropertyDescriptor(o, 'a'),
    ];
  },
  reflectOuter: (_x, w) =>
    Reflect.defineProperty(w.object, 'z', {
      value: w.n,
      enumerable: true,
      writable: true,
      configurable: true,
    }),
  structuredClone: (_x, w) => structuredClone({ a: w.n, b: [1, { c: 2 }] }),
  accessorRead: (x, w) => [x.mul(w.accessor.g), w.accessor.g],
  accessorWrite: (_x, w) => {
    w.accessor.g = w.n;
    w.accessor.g += 1;
    return w.accessor.plain;
  },
  deleteProps: (_x, w) => {
    const o: { a?: number; b?: number } = { a: 1, b: 2 };
    return [delete o.a, o, delete w.object.a, delete w.object.zz];
  },
  symbols: (_x, w) => {
    const o = { [w.mark]: w.n, [Symbol.toStringTag]: 'T' };
    return [`${o}`, o[w.mark]];
  },
  entriesLoop: (x, w) => {
    let s = x;
    for (const [k, v] of Object.entries({ a: x, b: x.mul(2) }))
      s = s.add(k === 'a' ? v : v.mul(w.n));
    return s;
  },
  protoRead: (_x, w) => [
    (w.object as never as { __proto__: unknown }).__proto__ === Object.prototype,
    (w.point as never as { __proto__: unknown }).__proto__ === Point.prototype,
  ],
  restKeys: (_x, w) => {
    const { b, ...rest } = w.object;
    const { plain, ...others } = w.accessor;
    return [b, rest, plain, others];
  },
};
