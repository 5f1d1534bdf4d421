import * as library from '../../runtime/index.ts';
import { tracedFunctions } from '../3-trace/builtins/api.ts';
import { performedFunctions } from '../3-trace/machine/calls/framework-calls.ts';
import { standardGlobals } from '../1-capture/script/standard-globals.ts';
import { isProxy } from '../guards/plain.ts';

/** Objects of the language and of this package that are the same in every process, by name. */
export class KnownObjects {
  readonly #names = new Map<unknown, string>();
  readonly #objects = new Map<string, object>();

  /** Those that there are now: made before user code could replace a method of this package. */
  constructor() {
    for (const name of standardGlobals) this.#addGlobal(name);
    for (const [name, made] of hiddenPrototypes()) this.#addWithMembers(name, made, isOfLanguage);
    this.#addLibrary('tostatic', library, 2);
    this.#addAll('traced', tracedFunctions());
    this.#addAll('performed', performedFunctions());
  }

  nameOf(object: unknown): string | undefined {
    return this.#names.get(object);
  }

  /** The object of that name. */
  get(name: string): object | undefined {
    return this.#objects.get(name);
  }

  #add(name: string, value: unknown): boolean {
    const isObject = typeof value === 'function' || (typeof value === 'object' && value !== null);
    if (!isObject || this.#names.has(value)) return false;
    this.#names.set(value, name);
    this.#objects.set(name, value);
    return true;
  }

  #addAll(kind: string, functions: Iterable<unknown>): void {
    let index = 0;
    for (const each of functions) this.#add(`${kind} ${index++}`, each);
  }

  #addGlobal(name: string): void {
    const value: unknown = Object.getOwnPropertyDescriptor(globalThis, name)?.value;
    if (name === 'globalThis') this.#add(name, globalThis);
    else if (typeof value === 'function' && !isOfLanguage(value, name)) return;
    else this.#addWithMembers(name, value, isOfLanguage);
  }

  /** An object with its own functions and getters; of a class, those of its prototype, too. */
  #addWithMembers(name: string, value: unknown, isOwn: IsOwn): void {
    if (!this.#add(name, value)) return;
    this.#addMembers(name, value as object, isOwn);
    const prototype: unknown = Object.getOwnPropertyDescriptor(value, 'prototype')?.value;
    if (typeof value === 'function' && this.#add(`${name}.prototype`, prototype)) {
      this.#addMembers(`${name}.prototype`, prototype as object, isOwn);
    }
  }

  #addMembers(name: string, holder: object, isOwn: IsOwn): void {
    for (const key of Reflect.ownKeys(holder)) {
      if (key === 'constructor' || key === 'prototype') continue;
      const { value, get, set } = Object.getOwnPropertyDescriptor(holder, key)!;
      for (const [kind, fn] of [['', value] as const, ['get ', get], ['set ', set]] as const) {
        const isFunction = typeof fn === 'function';
        if (isFunction && isOwn(fn, key, kind)) this.#add(`${kind}${name}.${String(key)}`, fn);
      }
    }
  }

  #addLibrary(name: string, namespace: object, depth: number): void {
    for (const [key, value] of Object.entries(namespace)) {
      const isNamespace = typeof value === 'object' && value !== null && depth > 1;
      if (typeof value === 'function') this.#addWithMembers(`${name}.${key}`, value, () => true);
      else if (isNamespace && Object.getPrototypeOf(value) === null) {
        this.#addLibrary(`${name}.${key}`, value as object, depth - 1);
      }
    }
  }
}

type IsOwn = (fn: unknown, key: string | symbol, kind?: string) => boolean;

/** A native function that has the name of its property: nothing of the user's that was put there. */
const isOfLanguage: IsOwn = (fn, key, kind = '') => {
  if (typeof fn !== 'function') return typeof fn === 'object';
  if (isProxy(fn) || !/\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(fn)))
    return false;
  const text = typeof key === 'symbol' ? `[${key.description}]` : key;
  return fn.name === `${kind}${text}` || (key === Symbol.iterator && /^(values|entries)$/.test(fn.name));
};

/** Prototypes that no global leads to. */
function hiddenPrototypes(): (readonly [string, object])[] {
  const above = (object: object) => Object.getPrototypeOf(object) as object;
  return [
    ['array iterators', above([].values())],
    ['Map iterators', above(new Map().values())],
    ['Set iterators', above(new Set().values())],
    ['iterators', above(above([].values()))],
    ['generators', above(function* () {}.prototype as object)],
    ['typed arrays', above(Float32Array.prototype)],
  ];
}
