import { invariant } from '../../runtime/errors/invariant.ts';
import type { Code } from '../bytecode/code.ts';
import { type Frame, type PrivateAccess, type Scope, uninitialized } from '../bytecode/frame.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { functionName } from './function-of.ts';
import { IteratorRecord, openIterator } from './iterator-record.ts';
import { notCallable, notIterable } from './native-errors.ts';

/**
 * What instructions do beyond one native operator. The interpreter and the state machine share these,
 * so that they can't differ.
 */

/** Anything that code can ask a property of; null and undefined throw the native error. */
type Properties = Record<PropertyKey, unknown>;

/** ToNumeric: the value of `x++`. */
export function toNumeric(value: unknown): unknown {
  let number = value as number;
  return number++;
}

export function increment(value: unknown, by: 1 | -1): unknown {
  let number = value as number;
  return by === 1 ? ++number : --number;
}

export function toPropertyKey(value: unknown): PropertyKey {
  if (typeof value === 'string' || typeof value === 'symbol') return value;
  return Reflect.ownKeys({ [value as string]: 0 })[0]!;
}

export function template(strings: readonly string[], values: readonly unknown[]): string {
  let text = strings[0]!;
  for (let i = 0; i < values.length; i++) text += `${values[i]}${strings[i + 1]}`;
  return text;
}

export function checkInitialized(value: unknown, name: string): void {
  if (value !== uninitialized) return;
  throw new ReferenceError(`Cannot access '${name}' before initialization`);
}

export function requireObject(value: unknown, what: string): void {
  if (value !== undefined && value !== null) return;
  throw new TypeError(`Cannot destructure ${what} as it is ${value}.`);
}

/** Sloppy code ignores a write that fails; this module is strict. */
export function setProperty(strict: boolean, object: unknown, key: unknown, value: unknown): void {
  if (strict || object === undefined || object === null) {
    (object as Properties)[key as PropertyKey] = value;
    return;
  }
  Reflect.set(Object(object), key as PropertyKey, value, object);
}

export function deleteProperty(strict: boolean, object: unknown, key: unknown): boolean {
  if (strict || object === undefined || object === null) {
    return delete (object as Properties)[key as PropertyKey];
  }
  return Reflect.deleteProperty(Object(object), key as PropertyKey);
}

export function defineProperty(object: unknown, key: unknown, value: unknown): void {
  Object.defineProperty(object, key as PropertyKey, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

export function defineAccessor(
  object: unknown,
  key: unknown,
  accessor: 'get' | 'set',
  fn: unknown,
): void {
  const name = `${accessor} ${functionName(key as PropertyKey)}`;
  Object.defineProperty(fn, 'name', { value: name, configurable: true });
  Object.defineProperty(object, key as PropertyKey, {
    [accessor]: fn,
    enumerable: true,
    configurable: true,
  });
}

export function setPrototype(object: unknown, prototype: unknown): void {
  const isPrototype = typeof prototype === 'object' || typeof prototype === 'function';
  if (isPrototype) Object.setPrototypeOf(object, prototype);
}

/** As strict code has it: its elements are apart from the parameters. */
export function argumentsObject(args: readonly unknown[]): object {
  const make = function (this: unknown): object {
    // biome-ignore lint/complexity/noArguments: it is what is asked for
    return arguments;
  };
  return Reflect.apply(make, undefined, args);
}

export function objectSpread(object: unknown, source: unknown): void {
  // Defined, not assigned: no setter of the prototype runs, and `__proto__` is a key like others.
  const copy = { ...(source as object) };
  for (const key of Reflect.ownKeys(copy)) defineProperty(object, key, (copy as Properties)[key]);
}

export function objectRest(source: unknown, excluded: readonly unknown[]): object {
  const rest = {};
  const object = Object(source);
  for (const key of Reflect.ownKeys(object)) {
    if (excluded.includes(key)) continue;
    if (Reflect.getOwnPropertyDescriptor(object, key)?.enumerable) {
      defineProperty(rest, key, object[key]);
    }
  }
  return rest;
}

export function arrayPush(array: unknown, value: unknown): void {
  (array as unknown[]).push(value);
}

export function arraySpread(code: Code, pc: Pc, array: unknown, iterable: unknown): void {
  const record = getIterator(code, pc, iterable);
  while (record.advance()) (array as unknown[]).push(record.current);
}

export function getIterator(code: Code, pc: Pc, iterable: unknown): IteratorRecord {
  return openIterator(iterable, () => notIterable(code, pc, iterable));
}

export function asIterator(value: unknown): IteratorRecord {
  invariant(value instanceof IteratorRecord, 'an iterator register holds an iterator');
  return value;
}

type Callable = (...args: unknown[]) => unknown;

export function asFunction(code: Code, pc: Pc, callee: unknown): Callable {
  if (typeof callee !== 'function') throw notCallable(code, pc);
  return callee as Callable;
}

export function construct(code: Code, pc: Pc, callee: unknown, args: readonly unknown[]): unknown {
  if (typeof callee !== 'function' || !isConstructor(callee)) throw notCallable(code, pc);
  return Reflect.construct(callee, args);
}

const constructors = new WeakSet<object>();

function isConstructor(callee: object): boolean {
  if (constructors.has(callee)) return true;
  try {
    // A proxy has a construct trap exactly when its target is a constructor; the user's never runs.
    new (new Proxy(callee, { construct: () => ({}) }) as new () => object)();
  } catch {
    return false;
  }
  constructors.add(callee);
  return true;
}

export function getPrivate(scope: Scope, object: unknown, name: string): unknown {
  return privateName(scope, name).get(object as object);
}

export function setPrivate(scope: Scope, object: unknown, name: string, value: unknown): void {
  privateName(scope, name).set(object as object, value);
}

export function hasPrivate(scope: Scope, object: unknown, name: string): boolean {
  return privateName(scope, name).has(object as object);
}

function privateName(scope: Scope, name: string): PrivateAccess {
  const access = scope.privateName?.(name);
  invariant(access, `the scope reaches #${name}`);
  return access;
}

/** `super.key`: looked up above the home object, with the frame's `this` as receiver. */
export function getSuper(frame: Frame, key: unknown): unknown {
  const { homeObject } = frame.closure;
  invariant(homeObject, `the home object of ${frame.closure.code.name} is known`);
  const above = Object.getPrototypeOf(homeObject);
  return above === null ? undefined : Reflect.get(above, key as PropertyKey, frame.thisValue);
}
