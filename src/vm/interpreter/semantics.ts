import { invariant } from '../../../runtime/errors/invariant.ts';
import type { Code } from '../bytecode/code.ts';
import { type Frame, type PrivateAccess, type Scope, uninitialized } from '../bytecode/frame.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { functionName } from '../frames/function-of.ts';
import { IteratorRecord, openIterator } from '../language/iterator-record.ts';
import { notCallable, notIterable } from '../language/native-errors.ts';
import {
  append,
  construct,
  defineProperty,
  deleteProperty as deletePropertyOf,
  descriptor,
  get,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  ownKeys,
  set,
  setPrototypeOf,
  toObject,
  weakGet,
  weakSet,
} from '../language/primordials.ts';

/**
 * Semantics of instructions beyond a single native operator. The interpreter and the generated state machine share
 * them, so that they can't differ.
 */

/** Any value that may have properties; null and undefined throw the native error. */
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
  return ownKeys({ [value as string]: 0 })[0]!;
}

export function template(strings: readonly string[], values: readonly unknown[]): string {
  let text = strings[0]!;
  for (let i = 0; i < values.length; i++) text += `${values[i]}${strings[i + 1]}`;
  return text;
}

export function checkInitialized(value: unknown, name: string): void {
  if (value !== uninitialized) return;
  if (name === 'this') throw noThis();
  throw new ReferenceError(`Cannot access '${name}' before initialization`);
}

/** The error for `this` in a derived constructor before `super()`. */
export const noThis = (): ReferenceError =>
  new ReferenceError(
    'Must call super constructor in derived class before accessing ' +
      "'this' or returning from derived constructor",
  );

export function requireObject(value: unknown, what: string): void {
  if (value !== undefined && value !== null) return;
  throw new TypeError(`Cannot destructure ${what} as it is ${value}.`);
}

/** In sloppy mode, failing writes are ignored; this module is in strict mode. */
export function setProperty(strict: boolean, object: unknown, key: unknown, value: unknown): void {
  if (strict || object === undefined || object === null) {
    (object as Properties)[key as PropertyKey] = value;
    return;
  }
  set(toObject(object), toPropertyKey(key), value, object);
}

export function deleteProperty(strict: boolean, object: unknown, key: unknown): boolean {
  if (strict || object === undefined || object === null) {
    return delete (object as Properties)[key as PropertyKey];
  }
  return deletePropertyOf(toObject(object), key as PropertyKey);
}

export function defineDataProperty(object: unknown, key: unknown, value: unknown): void {
  const fields = { value, writable: true, enumerable: true, configurable: true };
  defineProperty(object as object, key as PropertyKey, descriptor(fields));
}

export function defineAccessor(
  object: unknown,
  key: unknown,
  accessor: 'get' | 'set',
  fn: unknown,
): void {
  const name = `${accessor} ${functionName(key as PropertyKey)}`;
  defineProperty(fn as object, 'name', descriptor({ value: name, configurable: true }));
  const fields = { [accessor]: fn, enumerable: true, configurable: true } as PropertyDescriptor;
  defineProperty(object as object, key as PropertyKey, descriptor(fields));
}

export function setPrototype(object: unknown, prototype: unknown): void {
  const isPrototype = typeof prototype === 'object' || typeof prototype === 'function';
  if (isPrototype) setPrototypeOf(object as object, prototype as object | null);
}

const RegExpConstructor = RegExp;

export const regexp = (pattern: string, flags: string): RegExp =>
  new RegExpConstructor(pattern, flags);

export function typeofFree(scope: Scope, name: string): string {
  if (scope.typeOf) return scope.typeOf(name);
  return scope.has(name) ? typeof scope.get(name) : 'undefined';
}

export function restOf(args: readonly unknown[], from: number): unknown[] {
  const rest: unknown[] = [];
  for (let i = from; i < args.length; i++) append(rest, args[i]);
  return rest;
}

export function objectSpread(object: unknown, source: unknown): void {
  // Defined instead of assigned, so that no setter of the prototype runs and `__proto__` is an ordinary key.
  const copy = { ...(source as object) };
  const keys = ownKeys(copy);
  for (let i = 0; i < keys.length; i++) {
    defineDataProperty(object, keys[i]!, (copy as Properties)[keys[i]!]);
  }
}

export function objectRest(source: unknown, excluded: readonly unknown[]): object {
  const rest = {};
  const object = toObject(source) as Properties;
  const keys = ownKeys(object);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    if (isAmong(excluded, key)) continue;
    if (getOwnPropertyDescriptor(object, key)?.enumerable) {
      defineDataProperty(rest, key, object[key]);
    }
  }
  return rest;
}

function isAmong(values: readonly unknown[], value: unknown): boolean {
  for (let i = 0; i < values.length; i++) if (values[i] === value) return true;
  return false;
}

export function arrayPush(array: unknown, value: unknown): void {
  append(array as unknown[], value);
}

export function arraySpread(code: Code, pc: Pc, array: unknown, iterable: unknown): void {
  const record = getIterator(code, pc, iterable);
  while (record.advance()) append(array as unknown[], record.current);
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

export function constructNew(
  code: Code,
  pc: Pc,
  callee: unknown,
  args: readonly unknown[],
): unknown {
  if (typeof callee !== 'function' || !isConstructor(callee)) throw notCallable(code, pc);
  return construct(callee, args as unknown[]);
}

const constructors = new WeakMap<object, true>();
const trap = Object.assign(Object.create(null), { construct: () => ({}) }) as object;
const ProxyConstructor = Proxy;

export function isConstructor(callee: object): boolean {
  if (weakGet(constructors, callee)) return true;
  try {
    // A proxy can be constructed exactly if its target is a constructor; the user's constructor never runs.
    new (new ProxyConstructor(callee, trap) as unknown as new () => object)();
  } catch {
    return false;
  }
  weakSet(constructors, callee, true);
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

/** `super.key`: looked up in the home object's prototype, with the frame's `this` as receiver. */
export function getSuper(frame: Frame, key: unknown): unknown {
  const above = getSuperBase(frame);
  if (above === null) throw noSuperProperty('read', key);
  return get(above, key as PropertyKey, frame.thisValue);
}

/** Returns the object in which `super` looks up properties: the home object's prototype. */
export function getSuperBase({ closure }: Frame): object | null {
  const { homeObject } = closure;
  invariant(homeObject, `the home object of ${closure.code.name} is known`);
  return getPrototypeOf(homeObject) as object | null;
}

/** V8's error for a class that extends null. */
export function noSuperProperty(what: 'read' | 'set', key: unknown): TypeError {
  const verb = what === 'read' ? 'reading' : 'setting';
  return new TypeError(`Cannot ${what} properties of null (${verb} '${String(key)}')`);
}
