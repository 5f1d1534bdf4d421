import { InvariantError } from '../../../runtime/errors/invariant.ts';
import { type Frame, uninitialized } from '../bytecode/frame.ts';
import type { Intrinsic, intrinsics as operandCounts } from '../bytecode/intrinsics.ts';
import { closureOf, functionName } from '../frames/function-of.ts';
import { asyncIterator, asyncNext, asyncReturn } from '../language/async-iterator.ts';
import { disposer, suppressedError } from '../language/disposal.ts';
import { iteratorResult } from '../language/iterator-record.ts';
import {
  apply,
  construct,
  defineProperty,
  descriptor,
  get,
  getPrototypeOf,
  isObject,
  set,
} from '../language/primordials.ts';
import * as privateNames from '../language/private-names.ts';
import {
  defineDataProperty,
  getSuperBase,
  isConstructor,
  noSuperProperty,
  noThis,
} from './semantics.ts';

type Operands<N extends number, Tuple extends unknown[] = []> = Tuple['length'] extends N
  ? Tuple
  : Operands<N, [...Tuple, unknown]>;

type Intrinsics = {
  readonly [I in Intrinsic]: (
    frame: Frame,
    ...operands: Operands<(typeof operandCounts)[I]>
  ) => unknown;
};

/** The semantics of the `intrinsic` instruction, for both executors. */
export const intrinsics: Intrinsics = {
  assignToConstant() {
    throw new TypeError('Assignment to constant variable.');
  },
  deleteFree: (frame, name) => deleteFree(frame, name as string),
  deleteSuper() {
    throw new ReferenceError("Unsupported reference to 'super'");
  },
  defineMethod: (_frame, object, key, value) =>
    define(object, key, { value, writable: true, enumerable: false, configurable: true }),
  defineGetter: (_frame, object, key, fn) =>
    define(object, key, { get: named('get', key, fn), enumerable: false, configurable: true }),
  defineSetter: (_frame, object, key, fn) =>
    define(object, key, { set: named('set', key, fn), enumerable: false, configurable: true }),
  defineField: (_frame, object, key, value) => defineDataProperty(object, key, value),
  setFields(_frame, type, fields) {
    closureOf(type)!.fields = fields as () => void;
  },
  initializeFields(frame, instance) {
    const { fields } = constructorOf(frame);
    if (fields) apply(fields, instance, []);
  },
  newPrivateName: (_frame, description, owner) => privateNames.newPrivateName(description, owner),
  getPrivate: (_frame, object, name) => privateNames.getPrivate(object, name),
  setPrivate: (_frame, object, name, value) => privateNames.setPrivate(object, name, value),
  hasPrivate: (_frame, object, name) => privateNames.hasPrivate(object, name),
  addPrivate: (_frame, object, name, value) => privateNames.addPrivate(object, name, value),
  definePrivateMethod: (_frame, name, fn) => privateNames.definePrivateMethod(name, fn),
  definePrivateGetter: (_frame, name, fn) =>
    privateNames.definePrivateAccessor(name, 'getter', namedPrivate('get', name, fn)),
  definePrivateSetter: (_frame, name, fn) =>
    privateNames.definePrivateAccessor(name, 'setter', namedPrivate('set', name, fn)),
  brandPrivate: (_frame, object, name) => privateNames.brandPrivate(object, name),
  addOwnPrivate: () => inTraceAlone('addOwnPrivate'),
  brandOwnPrivate: () => inTraceAlone('brandOwnPrivate'),
  superBase: (frame) => getSuperBase(frame),
  getSuperOf(_frame, base, receiver, key) {
    if (base === null) throw noSuperProperty('read', key);
    return get(base as object, key as PropertyKey, receiver);
  },
  setSuperOf(frame, base, receiver, key, value) {
    if (base === null) throw noSuperProperty('set', key);
    if (set(base as object, key as PropertyKey, value, receiver)) return;
    if (!frame.closure.code.strict) return;
    throw new TypeError(`Cannot assign to read only property '${String(key)}' of object`);
  },
  superConstructor: (frame) => getPrototypeOf(constructorOf(frame).fn),
  superConstruct(frame, parent, args) {
    if (typeof parent !== 'function' || !isConstructor(parent)) {
      const { name } = constructorOf(frame).code;
      const whose = name ? `class '${name}'` : 'anonymous class';
      throw new TypeError(`Super constructor ${printed(parent)} of ${whose} is not a constructor`);
    }
    return construct(parent, args as unknown[], frame.newTarget as new () => object);
  },
  bindThis(_frame, before, instance) {
    if (before === uninitialized) return instance;
    throw new ReferenceError('Super constructor may only be called once');
  },
  constructed(_frame, value, self) {
    if (isObject(value)) return value;
    if (value !== undefined) {
      throw new TypeError('Derived constructors may only return object or undefined');
    }
    if (self === uninitialized) throw noThis();
    return self;
  },
  constructedBase: (_frame, value, self) => (isObject(value) ? value : self),
  asyncIterator: (frame, iterable) => asyncIterator(frame, iterable),
  asyncNext: (_frame, iterator) => asyncNext(iterator),
  asyncReturn: (_frame, iterator) => asyncReturn(iterator),
  iteratorResult: (_frame, result) => iteratorResult(result),
  disposer: (_frame, value) => disposer(value),
  suppressed: (_frame, error, suppressed) => suppressedError(error, suppressed),
};

/** Returns the closure of the constructor that runs the frame, or the function around its arrow. */
function constructorOf({ closure }: Frame): {
  fields?: (() => void) | undefined;
  fn?: object;
  code: { name: string };
} {
  return (closure.lexicalThis?.closure ?? closure) as never;
}

function deleteFree({ closure }: Frame, name: string): boolean {
  const { scope } = closure;
  if (scope.delete) return scope.delete(name);
  // A variable of a function or module can't be deleted, only a property of the global object.
  return scope.has(name) ? false : Reflect.deleteProperty(globalThis, name);
}

function define(object: unknown, key: unknown, fields: PropertyDescriptor): void {
  defineProperty(object as object, key as PropertyKey, descriptor(fields));
}

function named(kind: 'get' | 'set', key: unknown, fn: unknown): () => unknown {
  const value = `${kind} ${functionName(key as PropertyKey)}`;
  define(fn, 'name', { value, configurable: true });
  return fn as () => unknown;
}

/** The constructor of such a class runs natively as a whole, or is traced to its end. */
function inTraceAlone(name: Intrinsic): never {
  throw new InvariantError(`${name} is executed`);
}

const namedPrivate = (kind: 'get' | 'set', name: unknown, fn: unknown): unknown =>
  named(kind, (name as privateNames.PrivateName).description, fn);

const printed = (value: unknown): string =>
  typeof value === 'function' || typeof value === 'object' ? `${value}` : String(value);
