/** The functions, methods, getters and constructors of the realm, by name. */

import { runInNewContext } from 'node:vm';

/** What pages and Node have beyond the language, where it acts on values alone. */
const hostTypes = ['URL', 'URLSearchParams', 'TextEncoder', 'TextDecoder'];
const hostFunctions = ['structuredClone', 'atob', 'btoa'];

/** Globals of which no member is listed. */
export const omitted: Readonly<Record<string, string>> = {
  Atomics: 'acts on memory that threads share',
  SharedArrayBuffer: 'memory that threads share',
  WebAssembly: 'runs other code',
  FinalizationRegistry: 'calls back at a time of its own',
  console: 'writes text',
  Proxy: 'every access calls the user',
  Iterator: 'not in every supported version; its methods are listed by their prototype',
  AsyncDisposableStack: 'not in every supported version',
  DisposableStack: 'not in every supported version',
  SuppressedError: 'not in every supported version',
  Float16Array: 'not in every supported version',
  Temporal: 'not in every supported version',
};

/** Objects of the language that no global names. */
const hidden = (): Readonly<Record<string, object>> => {
  const above = (value: object): object => Object.getPrototypeOf(value) as object;
  return {
    TypedArray: above(Int32Array),
    'ArrayIterator.prototype': above([].values()),
    'MapIterator.prototype': above(new Map().values()),
    'SetIterator.prototype': above(new Set().values()),
    'StringIterator.prototype': above(''[Symbol.iterator]()),
    'RegExpStringIterator.prototype': above(''.matchAll(/x/g)),
    'Iterator.prototype': above(above([].values())),
    'Generator.prototype': above(function* () {}.prototype as object),
  };
};

/** `@@iterator` of the symbol Symbol.iterator. */
const nameOf = (key: string | symbol): string =>
  typeof key === 'symbol' ? key.description!.replace('Symbol.', '@@') : key;

/** What an engine adds for tools, and `RegExp.$1`, which tells of the latest match anywhere. */
const isOmitted = (owner: string, name: string): boolean =>
  name.startsWith('nodejs.') ||
  name === 'captureStackTrace' ||
  name === 'prepareStackTrace' ||
  (owner === 'RegExp' && /^(input|last|left|right|\$)/.test(name));

function* membersOf(owner: string, object: object): Generator<string> {
  for (const key of Reflect.ownKeys(object)) {
    if (key === 'constructor' || key === 'prototype' || key === 'caller' || key === 'arguments')
      continue;
    const { value, get } = Object.getOwnPropertyDescriptor(object, key)!;
    if (isOmitted(owner, nameOf(key))) continue;
    const isType = typeof value === 'function' && /^[A-Z]/.test(nameOf(key)) && owner !== 'Intl';
    if (typeof value === 'function' && !isType) yield `${owner}.${nameOf(key)}`;
    else if (get) yield `${owner}.${nameOf(key)}`;
  }
}

function* membersOfType(name: string, type: { readonly prototype?: object }): Generator<string> {
  yield* membersOf(name, type);
  if (type.prototype) yield* membersOf(`${name}.prototype`, type.prototype);
}

/** As `Array`, `Array.from`, `Array.prototype.map`, `Map.prototype.size`. */
export function realmNames(): string[] {
  const globals = runInNewContext('Object.getOwnPropertyNames(globalThis)') as string[];
  const names: string[] = [];
  for (const name of [...globals, ...hostTypes, ...hostFunctions]) {
    const value = (globalThis as Record<string, unknown>)[name];
    if (name in omitted || name === 'globalThis') continue;
    if (typeof value === 'function') names.push(name, ...membersOfType(name, value));
    else if (typeof value === 'object' && value !== null) names.push(...membersOf(name, value));
  }
  for (const [name, value] of Object.entries(hidden())) {
    names.push(
      ...(typeof value === 'function' ? membersOfType(name, value) : membersOf(name, value)),
    );
  }
  for (const [key, type] of Object.entries(Object.getOwnPropertyDescriptors(Intl))) {
    if (typeof type.value === 'function' && /^[A-Z]/.test(key)) {
      names.push(...membersOfType(`Intl.${key}`, type.value as { readonly prototype: object }));
    }
  }
  return [...new Set(names)];
}
