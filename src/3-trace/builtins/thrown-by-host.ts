/** Native functions that aren't traced for these operands, but throw for them: user code receives the error. */

import { isPlainArray, isProxy } from '../../guards/plain.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { factsRollback } from '../state/rollback.ts';
import type { Tracer } from '../state/tracer.ts';
import { guardIdentity } from '../state/value-guards.ts';
import { arrayElements } from '../values/arrays.ts';
import { byHost, plainValue } from '../values/objects/host-objects.ts';
import { plainKeys } from '../values/property-keys.ts';
import { isPristine } from '../values/protocols.ts';
import { specialized } from '../variables/unions.ts';
import {
  type FunctionVariable,
  hole,
  prototypeOf,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { ownKeys } from './descriptors.ts';

type AnyFunction = (...args: unknown[]) => unknown;
type Type = new (...args: unknown[]) => object;

const typedArrays = [
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array],
  ...[Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array],
];

const constructors: readonly unknown[] = [
  ...[Object, Array, String, Number, Boolean, BigInt, Symbol, Date, RegExp],
  ...[Map, Set, WeakMap, WeakSet, WeakRef, ArrayBuffer, DataView],
  ...[Object.getPrototypeOf(Int8Array), ...typedArrays],
];

/**
 * Functions that are never called while tracing. The others have no side effect on plain data, whether they throw or
 * not: no callback, no promise, no random number.
 */
const excluded: ReadonlySet<unknown> = new Set<unknown>([
  Math.random,
  Reflect.get(Array, 'fromAsync'),
]);

function functionsOf(holder: object): unknown[] {
  return Reflect.ownKeys(holder)
    .map((key) => Object.getOwnPropertyDescriptor(holder, key)?.value as unknown)
    .filter((value) => typeof value === 'function' && !excluded.has(value));
}

/** Static functions, by the object they are called on. */
const statics: ReadonlyMap<unknown, unknown> = new Map(
  [Reflect, JSON, Math, ...constructors].flatMap((holder) =>
    functionsOf(holder as object).map((fn) => [fn, holder] as const),
  ),
);

const called: ReadonlySet<unknown> = new Set<unknown>([
  ...statics.keys(),
  ...constructors,
  ...constructors.flatMap((type) => functionsOf((type as Type).prototype as object)),
  Promise,
]);

/**
 * Plain data never produces a promise or proxy, since both constructors need functions or objects with identity.
 */
const constructed: ReadonlySet<unknown> = new Set<unknown>([...constructors, Promise, Proxy]);

/**
 * Throws the native function's error if all operands are known; otherwise has no effect and leaves the call to the
 * native function.
 */
export function raiseWhatHostThrows(
  t: Tracer,
  fn: FunctionVariable['value'],
  receiver: Variable,
  args: readonly Variable[],
): void {
  if (!called.has(fn)) return;
  const self = specialized(receiver);
  raiseOfFrozen(t, fn, self, args);
  const holder = statics.get(fn);
  const isOnHolder =
    (self.kind === 'function' || self.kind === 'object') && (self.value as unknown) === holder;
  if (!isOnHolder) {
    trial(t, [receiver, ...args], ([value, ...rest]) => apply(fn, value, rest));
    return;
  }
  trial(t, args, (values) => {
    if (self.kind === 'function') guardIdentity(t, self);
    return apply(fn, holder, values);
  });
}

const { push, pop, shift, unshift, splice, reverse, fill, copyWithin } = Array.prototype;

/** Methods that change an array without calling callbacks. */
const changing: ReadonlySet<unknown> = new Set([
  ...[push, pop, shift, unshift, splice, reverse, fill, copyWithin],
]);

/**
 * Throws the error for changing a frozen array; its message doesn't depend on the array's elements or the arguments.
 */
function raiseOfFrozen(
  t: Tracer,
  fn: FunctionVariable['value'],
  array: Variable,
  args: readonly Variable[],
): void {
  const sample = changing.has(fn) ? frozenLike(t, array) : undefined;
  if (!sample) return;
  const copied = args.map((arg) => (isCopied(t, arg) ? specialized(arg) : undefinedVariable));
  trial(t, copied, (values) => apply(fn, sample, values));
}

/** Returns a frozen array of the same length; undefined for arrays that may change or have holes. */
function frozenLike(t: Tracer, array: Variable): readonly undefined[] | undefined {
  if (array.kind === 'newArray') {
    const { fixed, elements } = array;
    return fixed && !elements.includes(hole) ? frozenOf(elements.length) : undefined;
  }
  if (array.kind !== 'object' || isProxy(array.value) || !isPlainArray(array.value))
    return undefined;
  const { value, source } = array;
  if (!Object.isFrozen(value) || Object.keys(value).length !== value.length) return undefined;
  t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
  return frozenOf(value.length);
}

const frozenOf = (length: number) => Object.freeze(new Array<undefined>(length).fill(undefined));

const apply = (fn: FunctionVariable['value'], self: unknown, args: readonly unknown[]): unknown =>
  Reflect.apply(fn as AnyFunction, self, args);

/** Like `raiseWhatHostThrows`, for `new fn(…)`. */
export function raiseWhatConstructorThrows(
  t: Tracer,
  callee: FunctionVariable,
  args: readonly Variable[],
): void {
  const { value } = callee;
  if (!constructed.has(value)) return;
  trial(t, args, (values) => {
    guardIdentity(t, callee);
    return Reflect.construct(value as AnyFunction, values) as unknown;
  });
}

/** Runs `body` on copies of the operands. If it doesn't throw, rolls back the guards that this added. */
function trial(
  t: Tracer,
  operands: readonly Variable[],
  body: (values: readonly unknown[]) => unknown,
): void {
  const variables = operands.map(specialized);
  const rollBack = factsRollback(t);
  try {
    t.attempt(() => {
      if (variables.every((each) => isCopied(t, each)) && isPristine(t, 'array')) {
        const values = variables.map((each) => plainValue(t, each)!.value);
        byHost(t, () => body(values));
      }
      throw new GraphBreak('native-call', 'nothing is thrown');
    });
  } catch (error) {
    if (!(error instanceof GraphBreak)) throw error;
    rollBack();
  }
}

const maxDepth = 3;

/**
 * Returns whether a function can't distinguish a copy of the own enumerable properties from the operand. Excludes long
 * arrays.
 */
function isCopied(t: Tracer, value: Variable, depth = 0): boolean {
  const variable = specialized(value);
  if (variable.kind === 'constant' || variable.kind === 'symbolic') return !isLarge(variable.value);
  if (depth === maxDepth) return false;
  if (variable.kind === 'newArray') {
    const { named, isArguments, growable, outer, own } = variable;
    if (named || isArguments || growable || outer || own) return false;
    return arrayElements(t, variable).every((each) => isCopied(t, each, depth + 1));
  }
  if (variable.kind !== 'newObject' || variable.traits || prototypeOf(variable)) return false;
  const keys = plainKeys(t, variable);
  if (ownKeys(t, variable).length !== keys.length) return false;
  return keys.every((key) => {
    const content = variable.entries.get(key);
    return content !== undefined && isCopied(t, content, depth + 1);
  });
}

const isLarge = (value: unknown): boolean =>
  typeof value === 'number' && value > 2 ** 16 && value <= Number.MAX_SAFE_INTEGER;
