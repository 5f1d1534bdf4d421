import { nn, optim } from '../../runtime/functions.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { standardGlobals } from '../1-capture/script/standard-globals.ts';
import { tracedFunctions } from '../3-trace/builtins/api.ts';
import { performedFunctions } from '../3-trace/machine/calls/framework-calls.ts';
import { isProxy } from '../guards/plain.ts';

type Key = string | symbol;

/** A function or getter of an object. */
interface Member {
  readonly of: string;
  readonly key: Key;
  readonly kind: (typeof kinds)[number];
}

const kinds = ['value', 'get', 'set'] as const;

/** Objects of the language and of this package that exist in every process, by name. */
export class KnownObjects {
  readonly #names = new Map<unknown, string>();
  readonly #objects = new Map<string, object>();
  /** Whether their members have been added, on the first lookup. */
  #hasMembers = false;

  constructor() {
    for (const name of standardGlobals) {
      const value: unknown = Object.getOwnPropertyDescriptor(globalThis, name)?.value;
      const isOwn = typeof value !== 'function' || isOfLanguage(value, name);
      if (isOwn) this.#addClass(name, value);
    }
    for (const [name, value] of hiddenPrototypes()) this.#add(name, value);
    this.#addClass('Tensor', Tensor);
    this.#addLibrary('nn', nn, 1);
    this.#addLibrary('optim', optim, 1);
    this.#addAll('traced', tracedFunctions());
    this.#addAll('performed', performedFunctions());
  }

  nameOf(object: unknown): string | undefined {
    const name = this.#names.get(object);
    if (name !== undefined || this.#hasMembers) return name;
    this.#hasMembers = true;
    for (const [of, holder] of [...this.#objects]) {
      for (const key of Reflect.ownKeys(holder)) {
        for (const kind of kinds) this.#addMember({ of, key, kind });
      }
    }
    return this.#names.get(object);
  }

  /** The name of a class's prototype. */
  nameOfPrototype(prototype: object): string | undefined {
    return this.#names.get(prototype);
  }

  /** Whether it is a function that this package created, not a user call. */
  isOfPackage(fn: unknown): boolean {
    return ofPackage.test(this.nameOf(fn) ?? '');
  }

  get(name: string): object | undefined {
    const found = this.#objects.get(name);
    if (found) return found;
    const [of, key, kind] = name.split(separator);
    const isMember = key !== undefined && kinds.some((each) => each === kind);
    return isMember ? this.#member({ of: of!, key: keyNamed(key), kind } as Member) : undefined;
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

  /** Adds a class with its prototype and possibly unnamed superclasses, or another object. */
  #addClass(name: string, value: unknown): void {
    if (value === Function.prototype || !this.#add(name, value) || typeof value !== 'function')
      return;
    this.#add(`${name}.prototype`, Object.getOwnPropertyDescriptor(value, 'prototype')?.value);
    this.#addClass(`${name} extends`, Object.getPrototypeOf(value));
  }

  /** Adds functions and classes, including those in nested namespaces such as `nn.init`. */
  #addLibrary(name: string, namespace: object, levels: number): void {
    for (const [key, value] of Object.entries(namespace)) {
      const path = `${name}.${key}`;
      if (typeof value === 'function') this.#addClass(path, value);
      else if (typeof value === 'object' && value !== null && levels > 0) {
        this.#addLibrary(path, value as object, levels - 1);
      }
    }
  }

  #addMember(member: Member): void {
    const { of, key, kind } = member;
    const name = nameOfKey(key);
    const value = name === undefined ? undefined : this.#member(member);
    if (value && !this.#names.has(value)) this.#names.set(value, [of, name, kind].join(separator));
  }

  #member({ of, key, kind }: Member): object | undefined {
    const holder = this.#objects.get(of);
    const descriptor = holder && Object.getOwnPropertyDescriptor(holder, key);
    const found: unknown = descriptor?.[kind];
    if (typeof found !== 'function' || key === 'constructor') return undefined;
    return ofPackage.test(of) || isOfLanguage(found, key, kind) ? found : undefined;
  }
}

const ofPackage = /^(Tensor|nn|optim|traced|performed)\b/;
/** Doesn't occur in property names of the language or this package. */
const separator = ' → ';

/** Well-known symbols by their description. */
const nameOfKey = (key: Key): string | undefined =>
  typeof key === 'string'
    ? key
    : /^Symbol\.\w+$/.test(key.description ?? '')
      ? `@${key.description}`
      : undefined;

function keyNamed(name: string): Key {
  const known: unknown = name.startsWith('@Symbol.') ? Reflect.get(Symbol, name.slice(8)) : name;
  return typeof known === 'symbol' ? known : name;
}

/** Whether a native function has the name of its property, so that no user function has replaced it. */
function isOfLanguage(
  fn: { readonly name: string },
  key: Key,
  kind: Member['kind'] = 'value',
): boolean {
  if (isProxy(fn) || !nativeText.test(Function.prototype.toString.call(fn))) return false;
  const text = typeof key === 'symbol' ? `[${key.description}]` : key;
  const name = kind === 'value' ? text : `${kind} ${text}`;
  // The iteration method is another method by name.
  return fn.name === name || (key === Symbol.iterator && /^(values|entries)$/.test(fn.name));
}

const nativeText = /\{\s*\[native code\]\s*\}$/;

/** Prototypes that are unreachable from globals. */
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
