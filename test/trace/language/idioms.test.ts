/** What JavaScript's own constructs do, seen around ops: each case says all that it finds. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values } from '../same-as-eager.ts';

// biome-ignore-start lint: old ways of writing are what is tested.
const cases: Readonly<Record<string, (x: Tensor) => unknown>> = {
  argsIter: (x) => {
    function f(..._a: unknown[]) {
      const it = (arguments as any)[Symbol.iterator]();
      return [it.next().value, it.next().value];
    }
    return [f(2, 1, 3), x.mul(2)];
  },
  defArr: (x) => {
    const a: any = [];
    Object.defineProperty(a, '0', { enumerable: false, configurable: true });
    Object.defineProperty(a, '0', { enumerable: true });
    return [Object.getOwnPropertyDescriptor(a, '0'), a.length, x.mul(2)];
  },
  defObj: (x) => {
    const a: any = {};
    Object.defineProperty(a, 'k', { get: () => 1, enumerable: true, configurable: true });
    Object.defineProperty(a, 'k', { value: 5 });
    return [Object.getOwnPropertyDescriptor(a, 'k'), x.mul(2)];
  },
  defArr2: (x) => {
    const a: any = [1];
    Object.defineProperty(a, '0', { value: 7, writable: false });
    try {
      a[0] = 8;
    } catch (e) {
      return [(e as Error).name, a, x.mul(2)];
    }
    return ['none', a, x.mul(2)];
  },
  labels: (x) => {
    const r: number[] = [];
    a: for (let i = 0; i < 3; i++) {
      b: for (let j = 0; j < 3; j++) {
        if (j === 1) continue a;
        if (i === 2) break a;
        r.push(i * 10 + j);
        {
          c: {
            if (i === 1) break c;
            r.push(99);
          }
        }
      }
    }
    return [r, x.mul(2)];
  },
  closureLoop: (x) => {
    const fs: (() => number)[] = [];
    for (let i = 0; i < 3; i++) {
      fs.push(() => i);
      i += 0;
    }
    var v: any[] = [];
    for (var k = 0; k < 3; k++) v.push(() => k);
    return [fs.map((f) => f()), v.map((f) => f()), x.mul(2)];
  },
  fin: (x) => {
    const log: string[] = [];
    const f = (): number => {
      try {
        log.push('t');
        return 1;
      } finally {
        log.push('f');
      }
    };
    const g = (): number => {
      for (;;) {
        try {
          return 1;
        } finally {
          break;
        }
      }
      return 2;
    };
    return [f(), g(), log, x.mul(2)];
  },
  getset: (x) => {
    class P {
      static #c = 0;
      #v = 1;
      static get c() {
        return P.#c;
      }
      get v() {
        P.#c++;
        return this.#v;
      }
      set v(n) {
        this.#v = n * 2;
      }
      static {
        P.#c = 10;
      }
    }
    const p = new P();
    p.v = 4;
    p.v += 1;
    p.v++;
    return [p.v, P.c, x.mul(2)];
  },
  tagged: (x) => {
    const t = (s: TemplateStringsArray, ...v: unknown[]) => [
      s.raw.join('|'),
      v,
      Object.isFrozen(s),
    ];
    return [t`a${1}\n${'b'}`, x.mul(2)];
  },
  optch: (x) => {
    const o: any = {
      a: {
        b: null,
        f() {
          return this.k;
        },
        k: 3,
      },
    };
    return [o?.a?.b?.c.d, o.z?.(), o.a.f?.(), o?.['a']?.k, delete o?.a?.k, o.a?.b ?? 'd', x.mul(2)];
  },
  logic: (x) => {
    let a: any = null,
      b: any = 0,
      c: any = 'x';
    a ??= 5;
    b ||= 6;
    c &&= 7;
    const o: any = {
      get p() {
        return 1;
      },
    };
    o.p ||= 2;
    return [a, b, c, o.p, x.mul(2)];
  },
  destr: (x) => {
    const {
      a = 1,
      b: { c = 2, ...r } = {} as any,
      ...rest
    } = { b: { d: 4, e: 5 }, z: 9, y: 8 } as any;
    const [p, , q = 3, ...s] = [1, 2, undefined, 4, 5];
    return [a, c, r, rest, p, q, s, x.mul(2)];
  },
  spreadCall: (x) => [
    Math.max(...[1, 2], ...new Set([5, 3])),
    String.fromCharCode(...[72, 105]),
    x.mul(2),
  ],
  sym: (x) => {
    const k = Symbol('k');
    const o: any = { [k]: 1, a: 2, [Symbol.toPrimitive]: (h: string) => (h === 'number' ? 42 : h) };
    return [
      +o,
      `${o}`,
      o + '',
      Object.getOwnPropertySymbols(o).length,
      k.description,
      k.toString(),
      x.mul(2),
    ];
  },
  gen: (x) => {
    function* g(): any {
      try {
        const a = yield 1;
        const b = yield a + 1;
        return b;
      } finally {
        yield 'f';
      }
    }
    const it = g();
    return [it.next(), it.next(5), it.return(9), it.next(), it.next(), x.mul(2)];
  },
  proxy: (x) => {
    const log: string[] = [];
    const p: any = new Proxy(
      { a: 1 },
      {
        get: (t: any, k) => {
          log.push(String(k));
          return t[k];
        },
        has: () => true,
        deleteProperty: () => true,
      },
    );
    return [p.a, 'zz' in p, delete p.a, p.a, log, x.mul(2)];
  },
  evalOrder: (x) => {
    const log: number[] = [];
    const f = (n: number) => {
      log.push(n);
      return n;
    };
    const o: any = {};
    o[f(1)] = f(2) + f(3) * f(4);
    const r = f(5) ? f(6) : f(7);
    [o[f(8)], o[f(9)]] = [f(10), f(11)];
    return [log, r, o, x.mul(2)];
  },
};
// biome-ignore-end lint: see above.

describe.each(Object.keys(cases))('%s', (name) => {
  it.each([{}, { capture: 'auto' }] as const)('as natively, %o', (options) => {
    const { stats } = expectSameAsEager(
      () => ({ fn: cases[name]!, args: () => [values([3])] }),
      options,
    );
    expect(stats.graphs).toBeGreaterThan(0);
  });
});
