/* biome-ignore-all lint: what is tested is odd code */
/** Functions, errors and the host, in captured code. */

import { type Tensor } from '../../../../src/index.ts';
import { type Cases, caught, Point } from '../world.ts';

class Coded extends RangeError {
  code = 7;
  constructor(n: number) {
    super(`coded ${n}`, { cause: n });
  }
}
class Mine extends Error {
  constructor(n: number) {
    super(`mine ${n}`);
    this.name = 'Mine';
  }
}

type Old<T> = new (given: T) => { k: number; scale(): number };

function twoArguments(a: number, b: number): number {
  return a + b;
}

const OldPoint = function OldPoint(this: { k: number }, k: number) {
  this.k = k;
} as unknown as Old<number>;
OldPoint.prototype.scale = function (this: { k: number }) {
  return this.k * 2;
};
const ReturnsObject = function (this: { k: number }, k: number) {
  this.k = 1;
  return { other: k };
} as unknown as Old<number>;
const ReturnsNumber = function (this: { k: number }, k: number) {
  this.k = 1;
  return k;
} as unknown as Old<number>;
const Throws = function (w: { n: number; log: unknown[] }) {
  w.log.push('constructed');
  throw new RangeError(`n ${w.n}`);
} as unknown as Old<unknown>;
const SeesTarget = function (this: { k: number; isNew: boolean }, k: number) {
  this.k = k;
  this.isNew = new.target !== undefined;
} as unknown as Old<number>;

export const functions: Cases = {
  call: (x, w) => [
    function (this: { k: number }) {
      return x.mul(this.k);
    }.call({ k: w.n }),
    Math.max.apply(null, w.numbers),
    Math.max.call(null, 1, 2),
  ],
  bind: (x, w) => {
    const f = ((a: number, b: number) => x.mul(a + b)).bind(null, w.n);
    return [f(2), f.name, f.length];
  },
  bindNames: (_x, w) => {
    const bound = (a: number, b: number) => a + b + w.n;
    const twice = bound.bind(null, 1).bind(null, 2);
    const outer = twoArguments.bind(null, 1);
    const host = Math.max.bind(null);
    const nameless = [(a: number) => a][0]!.bind(null);
    const early = bound.bind(null);
    Object.defineProperty(bound, 'name', { value: 'renamed', configurable: true });
    return [twice, outer, host, nameless, early, bound.bind(null)].map((f) => [f.name, f.length]);
  },
  length: (_x, w) => [
    ((a: number, b: number) => a + b).length,
    (() => w.n).name,
    Point.name,
    Math.max.length,
  ],
  functionText: () => typeof (() => 1).toString(),
  instanceofFunction: () => [
    (() => 1) instanceof Function,
    typeof Point,
    function () {}.prototype !== undefined,
  ],
  newFunction: (x, w) => {
    function Old(this: { k: number }, k: number) {
      this.k = k;
    }
    Old.prototype.m = function (this: { k: number }) {
      return x.mul(this.k);
    };
    return new (Old as never as new (k: number) => { m(): Tensor })(w.n).m();
  },
  newOuterFunction: (x, w) => {
    const made = new OldPoint(w.n);
    const other = new OldPoint(w.n + 1);
    return [
      x.mul(made.scale()),
      made instanceof OldPoint,
      made.constructor === OldPoint,
      Object.getPrototypeOf(made) === OldPoint.prototype,
      made === other,
      made,
      { inside: other },
    ];
  },
  newOuterFunctionReturns: (_x, w) => [
    new ReturnsObject(w.n),
    new ReturnsNumber(w.n),
    new ReturnsNumber(w.n) instanceof ReturnsNumber,
  ],
  newOuterFunctionThrows: (_x, w) => caught(() => new Throws(w)),
  newOuterFunctionTarget: (_x, w) => new SeesTarget(w.n),
  callbackThrows: (_x, w) =>
    caught(() =>
      [1, 2].forEach((v) => {
        w.log.push(v);
        throw new TypeError(`v${v}`);
      }),
    ),
  errors: () => {
    const e = new Error('a', { cause: 3 });
    return [
      e.message,
      e.cause,
      e instanceof Error,
      String(e),
      e.name,
      e.toString(),
      new TypeError('t').name,
      Object.prototype.toString.call(e),
    ];
  },
  aggregate: () => new AggregateError([1], 'm').errors,
  aggregateWithCause: () => new AggregateError([1], 'm', { cause: 2 }),
  errorFields: (_x, w) =>
    caught(() => {
      throw new Coded(w.n);
    }),
  errorOfClass: (_x, w) => {
    const e = new Coded(w.n);
    return [e.code, e.message, e.name, e instanceof Coded, e instanceof RangeError, String(e), e];
  },
  customError: (_x, w) =>
    caught(() => {
      throw new Mine(w.n);
    }),
  errorThrown: (_x, w) =>
    caught(() => {
      if (w.n > 0) throw new RangeError(`n ${w.n}`);
    }),
  currying: (x, w) => {
    const add = (a: number) => (b: number) => x.mul(a + b);
    return add(w.n)(2);
  },
  defaultThis: () =>
    (function (this: unknown) {
      'use strict';
      return this;
    })(),
  argumentsUse: (_x, w) =>
    (
      function () {
        return [
          arguments.length,
          Array.from(arguments),
          [...arguments],
          Array.prototype.slice.call(arguments, 1),
        ];
      } as (...a: unknown[]) => unknown
    )(w.n, 2),
  queueMicro: () => typeof queueMicrotask,
  promiseAll: () => typeof Promise.resolve(1).then,
  consoleSilent: () => typeof console.log,
  consoleAssert: (_x, w) => [console.assert(w.n > 0, 'positive'), console.assert(w), w.n],
  isBuffer: (x, w) => [x, w, w.n, [w.n], undefined].map((each) => Buffer.isBuffer(each)),
  tagsOfMade: () =>
    [new Date(0), new Map(), new DataView(new ArrayBuffer(4)), /a/].map((each) =>
      Object.prototype.toString.call(each),
    ),
  getters: (_x, w) => [w.point.double, new Point(w.n).double],
  proxy: (_x, w) => {
    const p = new Proxy({ a: w.n } as Record<string, number>, {
      get: (t, k) => {
        w.log.push(k);
        return t[k as string];
      },
    });
    return p.a;
  },
  evalLike: () => typeof Function,
  globalThisRead: () => [
    globalThis === globalThis,
    typeof globalThis.Map,
    globalThis.Math.max(1, 2),
    typeof process.version,
  ],
};
