import { apply, isObject } from './primordials.ts';
import { privateFailure } from './private-failures.ts';
import { ReturnOverride } from './return-override.ts';

/** `#name` of a class that the code creates, one per evaluation of the class. */
export interface PrivateName {
  readonly description: string;
  /** Describes the objects that have it, as V8 does: `an instance of class A`. */
  readonly owner: string;
  /** The method that all instances share; a field has a value per instance. */
  shared: Method | undefined;
  readonly slot: Slot;
}

/** All fields are own properties, so that nothing is inherited from `Object.prototype`. */
interface Method {
  /** The method; undefined for accessors. */
  readonly value: unknown;
  getter: unknown;
  setter: unknown;
  readonly isMethod: boolean;
}

const methodOf = (value: unknown, isMethod: boolean): Method => ({
  value,
  getter: undefined,
  setter: undefined,
  isMethod,
});

interface Slot {
  has(object: object): boolean;
  get(object: object): unknown;
  set(object: object, value: unknown): void;
  add(object: object, value: unknown): void;
}

/** Creates a native private field, so that proxies and frozen objects behave correctly. */
function newSlot(): Slot {
  class Field extends ReturnOverride {
    #value: unknown;

    constructor(object: object, value: unknown) {
      super(object);
      this.#value = value;
    }

    static has = (object: object): boolean => #value in object;
    static get = (object: object): unknown => (object as Field).#value;
    static set = (object: object, value: unknown): void => {
      (object as Field).#value = value;
    };
    static add = (object: object, value: unknown): void => {
      new Field(object, value);
    };
  }
  return Field;
}

export const newPrivateName = (description: unknown, owner: unknown): PrivateName => ({
  description: description as string,
  owner: owner as string,
  shared: undefined,
  slot: newSlot(),
});

export function definePrivateMethod(name: unknown, fn: unknown): void {
  (name as PrivateName).shared = methodOf(fn, true);
}

export function definePrivateAccessor(name: unknown, kind: 'getter' | 'setter', fn: unknown): void {
  const known = name as PrivateName;
  known.shared ??= methodOf(undefined, false);
  known.shared[kind] = fn;
}

export function addPrivate(object: unknown, name: unknown, value: unknown): void {
  const { slot, description } = name as PrivateName;
  if (slot.has(object as object)) {
    throw new TypeError(`Cannot initialize ${description} twice on the same object`);
  }
  slot.add(object as object, value);
}

/** Adds the method or accessor to the object. */
export function brandPrivate(object: unknown, name: unknown): void {
  addPrivate(object, name, undefined);
}

export function getPrivate(object: unknown, name: unknown): unknown {
  const { slot, shared, description } = name as PrivateName;
  if (!isObject(object) || !slot.has(object)) {
    throw new TypeError(privateFailure('read', object, name as PrivateName));
  }
  if (!shared) return slot.get(object);
  if (shared.isMethod) return shared.value;
  if (shared.getter === undefined) {
    throw new TypeError(`'${description}' was defined without a getter`);
  }
  return apply(shared.getter as () => unknown, object, []);
}

export function setPrivate(object: unknown, name: unknown, value: unknown): void {
  const { slot, shared, description } = name as PrivateName;
  if (!isObject(object) || !slot.has(object)) {
    throw new TypeError(privateFailure('write', object, name as PrivateName));
  }
  if (!shared) slot.set(object, value);
  else if (shared.isMethod) throw new TypeError(`Private method '${description}' is not writable`);
  else if (shared.setter === undefined) {
    throw new TypeError(`'${description}' was defined without a setter`);
  } else apply(shared.setter as (value: unknown) => void, object, [value]);
}

export function hasPrivate(object: unknown, name: unknown): boolean {
  const { slot, description } = name as PrivateName;
  if (!isObject(object)) {
    throw new TypeError(
      `Cannot use 'in' operator to search for '${description}' in ${String(object)}`,
    );
  }
  return slot.has(object);
}
