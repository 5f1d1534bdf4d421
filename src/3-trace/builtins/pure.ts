/** Native functions that depend only on primitives. They run while tracing, on known values. */

import type { Hint } from '../values/to-primitive.ts';
import type { HostFunction } from './builtin.ts';

/** How a function treats its arguments. */
interface Signature {
  /** The maximum number of arguments that are used. */
  readonly arity: number;
  /**
   * How objects are treated: converted to a primitive with this hint; `false` as the result, since the type differs; or
   * not traced.
   */
  readonly objects: Hint | 'false' | 'untraced';
  /** True for methods of primitives. */
  readonly isMethod: boolean;
}

function functionsOf(object: object, except: readonly string[] = []): HostFunction[] {
  return Object.getOwnPropertyNames(object)
    .filter((name) => !except.includes(name))
    .map((name) => Object.getOwnPropertyDescriptor(object, name)?.value as unknown)
    .filter((value): value is HostFunction => typeof value === 'function');
}

type Row = readonly [HostFunction, Signature];

function rows(functions: readonly unknown[], objects: Signature['objects'], arity?: number): Row[] {
  return functions.map((fn) => {
    const found = fn as HostFunction & { readonly length: number };
    return [found, { arity: arity ?? found.length, objects, isMethod: false }];
  });
}

/** Methods of a primitive type. Calls with object arguments are not traced, since user-defined methods may run. */
function methods(prototype: object, except: readonly string[] = []): Row[] {
  const signature = { arity: Infinity, objects: 'untraced', isMethod: true } as const;
  return functionsOf(prototype, ['constructor', ...except]).map((fn) => [fn, signature]);
}

const anyNumber = Infinity;
const variadic: readonly unknown[] = [Math.max, Math.min, Math.hypot];

/** Methods that return an iterator, or whose argument decides which code runs. */
const notOfText = ['match', 'matchAll'];

const descriptionOf = Object.getOwnPropertyDescriptor(Symbol.prototype, 'description')!
  .get as HostFunction;

export const pure: ReadonlyMap<HostFunction, Signature> = new Map<HostFunction, Signature>([
  ...rows(functionsOf(Math, ['random']), 'number'),
  ...rows(variadic, 'number', anyNumber),
  ...methods(String.prototype, notOfText),
  [String.prototype.concat, { arity: Infinity, objects: 'string', isMethod: true }],
  ...methods(Number.prototype),
  ...methods(Boolean.prototype),
  ...methods(BigInt.prototype),
  ...methods(Symbol.prototype),
  [descriptionOf, { arity: 0, objects: 'untraced', isMethod: true }],
  ...rows([Number.isFinite, Number.isInteger, Number.isNaN, Number.isSafeInteger], 'false', 1),
  // biome-ignore lint/suspicious/noGlobalIsNan lint/suspicious/noGlobalIsFinite: users call these.
  ...rows([Number, globalThis.isNaN, globalThis.isFinite, BigInt], 'number', 1),
  ...rows([BigInt.asIntN, BigInt.asUintN], 'number'),
  ...rows(
    [Number.parseFloat, Number.parseInt, globalThis.parseFloat, globalThis.parseInt],
    'string',
  ),
  ...rows([encodeURI, encodeURIComponent, decodeURI, decodeURIComponent], 'string'),
  ...rows([escape, unescape], 'string'),
  ...rows([String, Symbol.for, Date.parse], 'string', 1),
  ...rows([Symbol.keyFor], 'untraced', 1),
  ...rows([Date.UTC, String.fromCharCode, String.fromCodePoint], 'number', anyNumber),
]);
