/** Operations of the language and the realm that throw in captured code: what they throw, caught and not. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { FullGraphError, type Tensor, tensor, toStatic } from '../../../src/index.ts';

/** Made before the calls. */
const weak = { map: new WeakMap(), set: new WeakSet() };

type Fn = (x: Tensor, date: Date, outer: typeof weak) => [Tensor, unknown];

const expressions = `
new Date(NaN).toISOString()
date.toISOString()
(1).toFixed(200)
(1).toPrecision(0)
(1).toString(99)
'x'.repeat(-1)
new Array(-1)
[].length = -1
BigInt('x')
BigInt(1.5)
1n / 0n
2n ** -1n
1n + 1
BigInt.asIntN(-1, 1n)
Math.max(1n)
isNaN(1n)
decodeURIComponent('%')
encodeURI('\\ud800')
new RegExp('[')
'abc'.replaceAll(/a/, 'b')
'abc'.matchAll(/a/)
'x'.normalize('q')
String.fromCodePoint(-1)
'a'.localeCompare('b', 'zz_zz')
JSON.parse('{')
JSON.stringify(1n)
Symbol() + ''
Symbol.keyFor(1)
Number(Symbol())
Reflect.construct(1, [])
Reflect.ownKeys(1)
Reflect.get(1, 'a')
Object.defineProperty(1, 'a', {})
Object.defineProperty({}, 'a', 1)
Object.defineProperty({}, 'a', { get: 1 })
Object.setPrototypeOf({}, 1)
Reflect.setPrototypeOf({}, 'a')
[1].map(1)
[1].sort(1)
Array.from([1], 1)
Map()
Promise()
new Promise(1)
new Proxy(1, {})
new WeakRef(1)
new DataView(1)
new Symbol()
new BigInt(1)
Map.prototype.get.call({}, 1)
Date.prototype.getTime.call({})
Number.prototype.toFixed.call({})
RegExp.prototype.exec.call({}, 'a')
Reflect.construct(Map, [5])
structuredClone({ a: Symbol('u') })
structuredClone(Symbol.iterator)
(() => { const o = {}; date.o = o; o.f = date.f = Symbol.iterator; return structuredClone([date.o]); })()
new Proxy({}, null)
new Intl.NumberFormat('xx-invalid-locale-zzzzzzzzzzz')
new Intl.DateTimeFormat('en', { timeZone: 'Nope' })
new URL('x')
new TextDecoder('nope')
atob('*')
[].reduce((a, b) => a)
[].at.call(null)
Array.from(null)
[...5]
[...null]
new Map([1])
new Map([[1, 2], 'x'])
new Set(5)
new WeakMap([[1, 2]])
new WeakSet([1])
weak.map.set(1, 2)
weak.set.add('a')
Object.fromEntries([1])
Object.fromEntries('ab')
Object.create(1)
Object.assign(null)
Object.keys(null)
Object.getOwnPropertyDescriptor(null, 'a')
Object.defineProperty(Object.freeze({}), 'a', { value: 1 })
Object.defineProperty(Object.freeze({ a: 1 }), 'a', { value: 2 })
Object.defineProperty(Object.freeze({ a: 0 }), 'a', { value: -0 })
Object.defineProperty(Object.freeze({ a: 1 }), 'a', { get() {} })
Object.defineProperty(Object.freeze({ a: 1 }), 'a', { enumerable: false })
Object.defineProperty(Object.freeze({ get a() { return 1; } }), 'a', { get() {} })
Object.defineProperty(Object.seal({ a: 1 }), 'a', { configurable: true })
Object.defineProperties(Object.preventExtensions({}), { a: { value: 1 } })
Object.assign(Object.freeze({ a: 1 }), { a: 1 })
Object.assign(Object.freeze([1]), { 0: 2 })
Object.assign(Object.seal({ a: 1 }), { a: 2, b: 3 })
Object.assign({ get a() { return 1; } }, { a: 2 })
Object.setPrototypeOf(Object.preventExtensions({}), {})
new Float32Array(-1)
new Int8Array(new ArrayBuffer(3), 1, 9)
new DataView(new ArrayBuffer(1)).getInt32(0)
new ArrayBuffer(-1)
new Uint8Array(2).set([1, 2, 3])
null.x
undefined()
({}).x.y
({})()
x instanceof 5
2 instanceof date.missing
'a' in 'b'
Symbol.hasInstance in 3
2 in date.missing
(() => { let a = b; let b = 1; })()
(() => { const c = 1; c = 2; })()
(() => { const [q] = null; })()
(() => { class A extends 5 {} })()
new (class { constructor() { throw new RangeError('mine'); } })()
`
  .trim()
  .split('\n');

/** Left to native code, which a program can't contain. */
const refused: readonly string[] = [
  '[].length = -1',
  "structuredClone({ a: Symbol('u') })",
  'structuredClone(Symbol.iterator)',
  '(() => { const o = {}; date.o = o; o.f = date.f = Symbol.iterator; return structuredClone([date.o]); })()',
  "new TextDecoder('nope')",
  "atob('*')",
  '(() => { const c = 1; c = 2; })()',
  '(() => { class A extends 5 {} })()',
];

const caught = (expression: string): Fn =>
  new Function(
    'x',
    'date',
    'weak',
    `let r; try { r = typeof (${expression}); } catch (e) { r = [e.name, e.message]; } return [x.mul(2), r];`,
  ) as Fn;

const uncaught = (expression: string): Fn =>
  new Function(
    'x',
    'date',
    'weak',
    `const y = x.mul(2); return [y, typeof (${expression})];`,
  ) as Fn;

/** What three calls show, the second with a date that is valid. */
function seen(fn: Fn): unknown[] {
  return [Number.NaN, 5, Number.NaN].map((time) => {
    try {
      const [y, value] = fn(tensor([1, 2]), new Date(time), weak);
      return [[...y.dataSync()], value];
    } catch (error) {
      if (error instanceof FullGraphError) throw error;
      return [(error as Error).name, (error as Error).message];
    }
  });
}

describe('what throws in captured code', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it.each(expressions)('%s', (expression) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const stderr = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    for (const fn of [caught(expression), uncaught(expression)]) {
      expect(seen(toStatic(fn) as Fn)).toEqual(seen(fn));
    }
    const warnings = [...warn.mock.calls, ...stderr.mock.calls].flat().map(String);
    expect(warnings.filter((text) => text.includes('tostatic failed'))).toEqual([]);
  });

  it('is caught in one program, unless it is listed', () => {
    const outside: string[] = [];
    for (const expression of expressions) {
      const fn = caught(expression);
      try {
        expect(seen(toStatic(fn, { fullGraph: true }) as Fn), expression).toEqual(seen(fn));
      } catch (error) {
        if (!(error instanceof FullGraphError)) throw error;
        outside.push(expression);
      }
    }
    expect(outside).toEqual(refused);
  });
});
