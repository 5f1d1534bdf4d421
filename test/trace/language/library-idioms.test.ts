/** What JavaScript's own library gives, seen around ops: each case says all that it finds. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values } from '../same-as-eager.ts';

// biome-ignore-start lint: old ways of writing are what is tested.
const cases: Readonly<Record<string, (x: Tensor) => unknown>> = {
  arrIter: (x) => {
    const it = [1, 2][Symbol.iterator]();
    const m = new Map([[1, 2]])[Symbol.iterator]();
    const s = 'ab'[Symbol.iterator]();
    return [it.next(), m.next(), s.next(), x.mul(2)];
  },
  reflDel: (x) => {
    const o: any = { a: 1, b: 2 };
    const r = [Reflect.deleteProperty(o, 'a')];
    Object.freeze(o);
    r.push(Reflect.deleteProperty(o, 'b'));
    return [r, o, x.mul(2)];
  },
  reflSet: (x) => {
    const o: any = { a: 1 };
    const r = [Reflect.set(o, 'a', 2)];
    Object.freeze(o);
    r.push(
      Reflect.set(o, 'a', 3),
      Reflect.set(o, 'z', 3),
      Reflect.defineProperty(o, 'q', { value: 1 }),
      Reflect.setPrototypeOf(o, null),
      Reflect.preventExtensions(o),
      Reflect.isExtensible(o),
    );
    return [r, o, x.mul(2)];
  },
  vals: (x) => {
    const o: any = {
      a: 'A',
      get b() {
        delete this.c;
        return 'B';
      },
      c: 'C',
    };
    return [Object.values(o), x.mul(2)];
  },
  ents: (x) => {
    const o: any = {
      a: 'A',
      get b() {
        delete this.c;
        this.d = 1;
        return 'B';
      },
      c: 'C',
    };
    return [Object.entries(o), { ...o }, Object.assign({}, o), JSON.stringify(o), x.mul(2)];
  },
  jsonRep: (x) => [
    JSON.stringify({ '1': 1, a: 2, b: { a: 3, c: 4 } }, ['a', 'b', 1] as any, 2),
    JSON.stringify({ a: 1, b: [1, 2] }, (k, v) => (k === 'a' ? undefined : v), '--'),
    JSON.stringify({ a: { toJSON: (k: string) => 'j' + k } }),
    JSON.stringify([undefined, () => 1, Symbol('a'), NaN, -0, 1e21]),
    x.mul(2),
  ],
  jsonRev: (x) => [
    JSON.parse('{"a":1,"b":[1,2,{"c":3}]}', function (this: any, k, v) {
      if (k === 'c') return undefined;
      if (k === 'a') {
        this.z = 1;
      }
      return typeof v === 'number' ? v * 2 : v;
    }),
    x.mul(2),
  ],
  jsonCirc: (x) => {
    const o: any = { a: 1 };
    o.o = o;
    try {
      JSON.stringify(o);
    } catch (e) {
      return [(e as Error).name, x.mul(2)];
    }
    return ['none', x];
  },
  bigi: (x) => {
    let c = 0;
    const r: string[] = [];
    try {
      BigInt({
        valueOf: () => {
          c++;
          return Infinity;
        },
      } as any);
    } catch (e) {
      r.push((e as Error).name);
    }
    return [r, c, x.mul(2)];
  },
  tag: (x) => [
    Object.prototype.toString.call(function* () {}),
    Object.prototype.toString.call(async () => {}),
    Object.prototype.toString.call(null),
    Object.prototype.toString.call(new Map()),
    String(function* () {}.constructor.name),
    x.mul(2),
  ],
  errsym: (x) => {
    const e: any = new Error('a');
    e.message = 5;
    e.name = 'Q';
    const r = [String(e), `${e}`];
    e.name = '';
    r.push(String(e));
    e.message = '';
    r.push(String(e));
    return [r, x.mul(2)];
  },
  strobj: (x) => {
    const s: any = Object('abc');
    return [
      s.length,
      s[1],
      s instanceof String,
      typeof s,
      Object.keys(s),
      s + 'd',
      s.at(-1),
      x.mul(2),
    ];
  },
  numfmt: (x) => [
    (12.345).toFixed(1),
    (0.000001234).toString(),
    (255).toString(16),
    (1e21).toLocaleString === undefined,
    (5).toPrecision(3),
    Number('0x1f'),
    parseInt('12px'),
    parseFloat('.5e1x'),
    (25).toString(36),
    (-1.5).toFixed(0),
    (1.005).toFixed(2),
    x.mul(2),
  ],
  rx: (x) => {
    const re = /(\d)(?<n>[a-z])?/gy;
    const r = ['1a2b3'.match(re), re.lastIndex];
    re.lastIndex = 2;
    r.push(re.exec('1a2b3') as any, re.lastIndex);
    r.push(
      'a1b2'.replace(/(\w)(\d)/g, (_m, a, b, off) => b + a + off) as any,
      'a-b-c'.split(/(-)/) as any,
      [...'a1b2'.matchAll(/[a-z](\d)/g)].map((m) => [m[1], m.index]) as any,
      'x'.replace('x', '$&$&$$') as any,
      'aXbX'.replaceAll('X', () => '*') as any,
    );
    return [r, x.mul(2)];
  },
  date: (x) => {
    const d = new Date(2020, 1, 30, 12);
    return [
      d.getMonth(),
      d.toISOString(),
      new Date('2020-01-01').getTime(),
      new Date(NaN).getTime(),
      JSON.stringify(d),
      x.mul(2),
    ];
  },
  sortst: (x) => {
    const a = [
      { k: 2, i: 0 },
      { k: 1, i: 1 },
      { k: 2, i: 2 },
      { k: 1, i: 3 },
    ];
    return [
      a.sort((p, q) => p.k - q.k).map((e) => e.i),
      [3, 10, 2].sort(),
      [...'hello'].sort().join(''),
      [undefined, 3, , 1].sort(),
      x.mul(2),
    ];
  },
  weak: (x) => {
    const w = new WeakMap();
    const k = {};
    w.set(k, 1);
    return [w.get(k), w.has({}), w.delete(k), w.has(k), x.mul(2)];
  },
  bignum: (x) =>
    [
      2n ** 64n,
      -7n / 2n,
      BigInt.asUintN(8, 257n),
      5n > 4,
      2n == (2 as any),
      typeof 1n,
      123n.toString(16),
      x.mul(2),
    ].map((v) => (typeof v === 'bigint' ? String(v) : v)),
  typed: (x) => {
    const a = new Uint8ClampedArray([300, -5, 1.5]);
    const b = new Uint8Array(a.buffer.slice(1)).length;
    const d = new DataView(new ArrayBuffer(8));
    d.setInt16(0, -2);
    return [
      [...a],
      b,
      d.getUint16(0),
      Array.from(new Int16Array([1, 2]).map((v) => v * 2)),
      new Uint8Array([3, 1, 2]).sort().join(),
      x.mul(2),
    ];
  },
  strm: (x) => [
    'abc'.padStart(5, '*'),
    'a,b'.split(','),
    ' x '.trim(),
    'abc'.at(-1),
    'aXb'.toLowerCase(),
    'abc'.slice(-2),
    'ab'.repeat(2),
    'é'.normalize('NFD').length,
    'a\u{1F600}b'.length,
    [...'a\u{1F600}b'].length,
    'abc'.localeCompare('abd'),
    'x'.codePointAt(0),
    x.mul(2),
  ],
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
