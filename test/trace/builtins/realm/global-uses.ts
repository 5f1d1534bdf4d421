/** Uses of the realm's globals themselves, as texts like those of uses.ts. */

const errorUses = (name: string): string => `[new ${name}(w.text), ${name}("m", { cause: w.n })]`;
const typedUses = (name: string): string =>
  `[new ${name}(w.n), new ${name}([w.n, 2]), new ${name}(w.typed), new ${name}(new ArrayBuffer(8), 0, 1)]`;
const bigUses = (name: string): string =>
  `[new ${name}(w.n), new ${name}([w.big]), ${name}.of(2n)]`;

/** Functions that are globals, called and constructed. */
export const globalUses: Readonly<Record<string, string>> = {
  Object: '[Object(w.object) === w.object, new Object(), typeof Object(w.n)]',
  Function: 'new Function("a", "return a")(w.n)',
  Array: '[new Array(w.n), Array(1, w.n)]',
  Number: '[Number(w.text), Number(w.big), typeof new Number(w.n)]',
  Boolean: '[Boolean(w.n), typeof new Boolean(w.flag)]',
  String: '[String(w.n), String(w.symbol), typeof new String(w.text)]',
  Symbol: 'typeof Symbol(w.text)',
  Date: '[new Date(w.n), new Date(2020, w.n), new Date("2020-01-01"), new Date(w.date)]',
  Promise: 'new Promise(() => {})',
  RegExp: '[new RegExp(w.text, "g"), RegExp(w.text), new RegExp(/a/g, "i"), new RegExp(w.re)]',
  ...Object.fromEntries(
    [
      'Error',
      'EvalError',
      'RangeError',
      'ReferenceError',
      'SyntaxError',
      'TypeError',
      'URIError',
    ].map((name) => [name, errorUses(name)]),
  ),
  AggregateError: 'new AggregateError([w.n], w.text)',
  ...Object.fromEntries(
    ['Uint8Array', 'Int8Array', 'Uint16Array', 'Int16Array', 'Uint32Array', 'Int32Array'].map(
      (name) => [name, typedUses(name)],
    ),
  ),
  ...Object.fromEntries(
    ['Float32Array', 'Float64Array', 'Uint8ClampedArray'].map((name) => [name, typedUses(name)]),
  ),
  BigUint64Array: bigUses('BigUint64Array'),
  BigInt64Array: bigUses('BigInt64Array'),
  ArrayBuffer: 'new ArrayBuffer(w.n)',
  DataView: 'new DataView(w.buffer, w.n)',
  Map: 'new Map(w.map)',
  Set: 'new Set(w.numbers)',
  BigInt: 'BigInt(w.n)',
  WeakMap: 'new WeakMap([[w.key, 1]]).has(w.key)',
  WeakSet: 'new WeakSet([w.key]).has(w.key)',
  WeakRef: 'new WeakRef(w.key).deref() === w.key',
  parseFloat: 'parseFloat(w.text)',
  parseInt: 'parseInt("1" + w.n)',
  ...Object.fromEntries(
    [
      'decodeURI',
      'decodeURIComponent',
      'encodeURI',
      'encodeURIComponent',
      'escape',
      'unescape',
    ].map((name) => [name, `${name}(w.text + "%20")`]),
  ),
  eval: '(0, eval)("1 + 1")',
  isFinite: 'isFinite(w.n)',
  isNaN: 'isNaN(w.n)',
  URL: 'new URL(w.text, "https://h.org/")',
  URLSearchParams: '[new URLSearchParams({ a: w.n }), new URLSearchParams(w.params)]',
  TextEncoder: 'new TextEncoder().encode(w.text)',
  TextDecoder: 'new TextDecoder("latin1").encoding',
  structuredClone:
    '[structuredClone(w.data), structuredClone(w.map), structuredClone({ a: [w.n] })]',
  atob: 'atob(btoa(w.text))',
  'Object.prototype.__proto__': 'w.object.__proto__ === Object.prototype',
  btoa: 'btoa(w.text)',
};
