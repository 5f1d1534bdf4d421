import { assertNever } from '../../runtime/errors/invariant.ts';

/** Objects that can be read as a whole without running user code. */

/** The built-in array iteration, as it was when this module was loaded. */
const pristineValues = Array.prototype[Symbol.iterator];

export function isPlainArray(value: unknown): value is unknown[] {
  return (
    Array.isArray(value) &&
    Object.getPrototypeOf(value) === Array.prototype &&
    // Array methods create their results by `constructor`. Own properties may be getters.
    Array.prototype.constructor === Array &&
    Array.prototype[Symbol.iterator] === pristineValues &&
    !Object.hasOwn(value, 'constructor') &&
    !Object.hasOwn(value, Symbol.iterator)
  );
}

/** The function's name; empty if it is a getter or not text, as a class's static member `name` may be. */
export function plainName(fn: object): string {
  const name: unknown = Object.getOwnPropertyDescriptor(fn, 'name')?.value;
  return typeof name === 'string' ? name : '';
}

/** Whether the value is an object literal or an object without prototype, and has no enumerable symbol keys. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.getOwnPropertySymbols(value).length === 0;
}

const { propertyIsEnumerable: isEnumerable } = Object.prototype;

/** Whether listing the own enumerable keys runs no user code and finds no symbols. */
export function listsPlainly(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || isProxy(value)) return false;
  if (ArrayBuffer.isView(value)) return false;
  const symbols = Object.getOwnPropertySymbols(value);
  for (let i = 0; i < symbols.length; i++) {
    if (isEnumerable.call(value, symbols[i]!)) return false;
  }
  return true;
}

/** Returns the getter and setter that reading or assigning the property would run. */
export function accessorOf(object: object, key: PropertyKey): PropertyDescriptor | undefined {
  for (
    let holder: object | null = object;
    holder;
    holder = Object.getPrototypeOf(holder) as object | null
  ) {
    if (isProxy(holder)) return undefined;
    const descriptor = Object.getOwnPropertyDescriptor(holder, key);
    if (!descriptor) continue;
    return 'value' in descriptor || isModuleNamespace(holder) ? undefined : descriptor;
  }
  return undefined;
}

/** Whether reading the property runs no user code. */
export function readsPlainly(object: object, key: PropertyKey): boolean {
  for (
    let holder: object | null = object;
    holder;
    holder = Object.getPrototypeOf(holder) as object | null
  ) {
    if (isProxy(holder)) return false;
    const descriptor = Object.getOwnPropertyDescriptor(holder, key);
    if (descriptor) return 'value' in descriptor || isModuleNamespace(holder);
  }
  return true;
}

/** Whether assigning the property runs no user code and has no side effect. */
function writesPlainly(object: object, key: PropertyKey): boolean {
  if (isProxy(object) || ArrayBuffer.isView(object)) return false;
  const descriptor = Object.getOwnPropertyDescriptor(object, key);
  if (descriptor)
    return descriptor.writable === true && !(Array.isArray(object) && key === 'length');
  // Appending to an array also changes its length.
  if (Array.isArray(object) || !Object.isExtensible(object)) return false;
  return inheritsPlainly(Object.getPrototypeOf(object) as object | null, key);
}

/** Whether assigning the property adds it to an object that has this prototype and no own property of the name. */
function inheritsPlainly(prototype: object | null, key: PropertyKey): boolean {
  let holder = prototype;
  for (; holder; holder = Object.getPrototypeOf(holder) as object | null) {
    if (isProxy(holder)) return false;
    const inherited = Object.getOwnPropertyDescriptor(holder, key);
    // A setter would run; a read-only property rejects the write.
    if (inherited) return inherited.writable === true;
  }
  return true;
}

/** A change: of a property, of a property in an object with this prototype, or of an array as a whole. */
export type Change = 'write' | 'writeBelow' | 'delete' | 'resize';

/** Whether the change runs no user code and doesn't throw. */
export function allows(object: object, change: Change, key: PropertyKey): boolean {
  switch (change) {
    case 'write':
      return writesPlainly(object, key);
    case 'writeBelow':
      return inheritsPlainly(object, key);
    case 'delete':
      return deletesPlainly(object, key);
    case 'resize':
      return resizesPlainly(object);
    default:
      return assertNever(change, 'change');
  }
}

function deletesPlainly(object: object, key: PropertyKey): boolean {
  if (isProxy(object) || Array.isArray(object) || ArrayBuffer.isView(object)) return false;
  const descriptor = Object.getOwnPropertyDescriptor(object, key);
  return descriptor === undefined || descriptor.configurable === true;
}

function resizesPlainly(array: object): boolean {
  const length = Object.getOwnPropertyDescriptor(array, 'length');
  return Object.isExtensible(array) && length?.writable === true;
}

/** Bundlers and test runners create module namespaces from getters that only return a variable. */
export function isModuleNamespace(object: object): boolean {
  const tag = Object.getOwnPropertyDescriptor(object, Symbol.toStringTag);
  return tag?.value === 'Module' || Object.hasOwn(object, '__esModule');
}

const getterOf = (name: string) => Object.getOwnPropertyDescriptor(globalThis, name)?.get;

/** The host's own getters, such as `performance`, only return a value. */
const hostGetters: ReadonlySet<unknown> = new Set([
  undefined,
  ...Object.getOwnPropertyNames(globalThis).map(getterOf),
]);

/** Whether the global is a user-defined getter. */
export function isGetterGlobal(name: string): boolean {
  return !hostGetters.has(getterOf(name));
}

interface UtilTypes {
  readonly types: { isProxy(value: unknown): boolean };
}

/** Whether the value is a Proxy, each read of which may run user code; only Node can detect that. */
export function isProxy(value: unknown): boolean {
  return proxyTest()(value);
}

/** The native function that detects Proxies. */
export function proxyTest(): (value: unknown) => boolean {
  utilTypes ??= (globalThis.process?.getBuiltinModule?.('node:util') ?? noUtilTypes) as UtilTypes;
  return utilTypes.types.isProxy;
}

const noUtilTypes: UtilTypes = { types: { isProxy: () => false } };
let utilTypes: UtilTypes | undefined;
