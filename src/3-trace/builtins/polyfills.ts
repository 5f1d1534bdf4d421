/**
 * Host functions that take callbacks, traced through the bytecode of an equivalent JavaScript function. A graph break
 * in a callback can therefore stop in the middle of the function.
 */

import { typedArrayTypes } from '../../guards/types/typed-array-types.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Closure } from '../../vm/bytecode/frame.ts';
import { growableIn } from '../control-flow/lists/growable-array.ts';
import { needsElements } from '../control-flow/lists/list-elements.ts';
import { isBetterAsList, sortArguments } from '../control-flow/sort-order.ts';
import { asCollection, asPlainCollection } from '../heap/collections.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardIdentity, isUndefined } from '../state/value-guards.ts';
import { arrayLength, asArray, isArray } from '../values/arrays.ts';
import { isArrayClass, isOfArrayClass, makesArrays } from '../values/makes-arrays.ts';
import { isCloneable } from '../values/objects/is-cloneable.ts';
import { isTree } from '../values/objects/is-tree.ts';
import { isObjectVariable } from '../values/objects/prototype-variable.ts';
import { isOuterTypedArray } from '../values/outer-typed-arrays.ts';
import { readProperty } from '../values/properties.ts';
import { isPristine, type Protocol } from '../values/protocols.ts';
import { isPrimitiveVariable } from '../values/to-primitive.ts';
import { isRefused } from '../variables/code-of.ts';
import { specialized } from '../variables/unions.ts';
import { undefinedVariable, type Variable } from '../variables/variable.ts';
import { comparesScalars } from './array-search.ts';
import { isSmallArray } from './arrays.ts';
import { isDate } from './dates.ts';
import { readsKeyAndValue } from './json.ts';
import * as arrayClasses from './polyfills/array-classes.ts';
import * as arrayLikes from './polyfills/array-likes.ts';
import * as arrays from './polyfills/arrays.ts';
import { notePolyfill } from './polyfills/codes.ts';
import * as collections from './polyfills/collections.ts';
import * as dates from './polyfills/dates.ts';
import * as groups from './polyfills/groups.ts';
import * as iteratorHelpers from './polyfills/iterator-helpers.ts';
import * as iterators from './polyfills/iterators.ts';
import * as json from './polyfills/json.ts';
import * as lists from './polyfills/lists.ts';
import * as objects from './polyfills/objects.ts';
import * as sets from './polyfills/sets.ts';
import { insertionSort, sortByRank } from './polyfills/sort.ts';
import * as clone from './polyfills/structured-clone.ts';
import * as typedArrays from './polyfills/typed-arrays.ts';

type AnyFunction = (...args: never[]) => unknown;

interface Equivalent {
  readonly body: AnyFunction;
  /** Returns whether the body represents the native function for this receiver and these arguments. */
  readonly fits: (t: Tracer, receiver: Variable, args: readonly Variable[]) => boolean;
}

const isCallable = (variable: Variable | undefined): boolean =>
  variable?.kind === 'function' || variable?.kind === 'closure' || variable?.kind === 'bound';

function isArrayLike(variable: Variable): boolean {
  if (variable.kind === 'newObject' || variable.kind === 'newArray') return true;
  if (variable.kind === 'newTypedArray') return true;
  if (variable.kind !== 'object') return false;
  const { value } = variable;
  return !(Array.isArray(value) || ArrayBuffer.isView(value)) || isSmallArray(value);
}

const onArray: Equivalent['fits'] = (t, receiver, [callback]) =>
  isCallable(callback) && asArray(t, receiver) !== undefined;

/** Methods that only read elements accept any array-like object. */
const onAnyArray: Equivalent['fits'] = (t, receiver, args) =>
  onArray(t, receiver, args) || (isCallable(args[0]) && isArrayLike(receiver));

/** Accepts array-likes other than subclass instances: the result is a built-in array. */
const onNoSubclass: Equivalent['fits'] = (t, receiver, args) =>
  onArray(t, receiver, args) ||
  (isCallable(args[0]) && isArrayLike(receiver) && !isArray(t, receiver));

/** Accepts array-likes that aren't arrays, which `builtins/arrays.ts` handles. */
const onArrayLike: Equivalent['fits'] = (t, receiver) =>
  isArrayLike(receiver) && asArray(t, receiver) === undefined;

/** Also accepts arrays whose elements the program compares. */
const onCompared: Equivalent['fits'] = (t, receiver, args) =>
  onArrayLike(t, receiver, args) || comparesScalars(t, receiver, args);

/** V8 merges runs of longer lists, which compares elements in another order. */
const maxInserted = 63;

const onShortArray: Equivalent['fits'] = (t, receiver, [callback]) => {
  const array = isCallable(callback) ? asArray(t, receiver) : undefined;
  return array !== undefined && arrayLength(t, array) <= maxInserted;
};

/** `entries`: the native iteration method, which a subclass may override. */
const onCollection =
  (type: 'Map' | 'Set', entries: unknown): Equivalent['fits'] =>
  (t, receiver, [callback]) =>
    isCallable(callback) &&
    asCollection(t, receiver, type) !== undefined &&
    (specialized(readProperty(t, receiver, 'entries')) as { value?: unknown }).value === entries;

const onObject: Equivalent['fits'] = (_t, receiver) => isObjectVariable(receiver);

const ofObject: Equivalent['fits'] = (_t, _receiver, [object]) =>
  object !== undefined && isObjectVariable(object);

type Row = readonly [host: AnyFunction, body: unknown, fits: Equivalent['fits']];

/** Returns a row for each body that has the name of a function of `host`; engines may lack the newer functions. */
function named(host: object, bodies: object, fits: Equivalent['fits']): readonly Row[] {
  return Object.entries(bodies).flatMap(([name, body]) => {
    const native = Reflect.get(host, name) as AnyFunction | undefined;
    return native ? [[native, body, fits] as const] : [];
  });
}

/** `toString` calls the object's own `join` if it has one. */
function joinsNatively(t: Tracer, receiver: Variable): boolean {
  const method = specialized(readProperty(t, receiver, 'join'));
  if (method.kind !== 'function' || !joining.has(method.value)) return false;
  // That of typed arrays throws for other receivers.
  const isTyped =
    receiver.kind === 'newTypedArray' ||
    (receiver.kind === 'object' && isOuterTypedArray(receiver));
  if (method.value !== Array.prototype.join && !isTyped) return false;
  guardIdentity(t, method);
  return true;
}

const { map, filter, flatMap, toSorted, from, ...readingArrays } = arrays;
const { join, localeText, slice, indexOf, lastIndexOf, includes, at } = arrayLikes;

const rows: readonly Row[] = [
  ...named(Array.prototype, { map, filter, flatMap }, onNoSubclass),
  ...named(Array.prototype, readingArrays, onAnyArray),
  ...named(Array.prototype, { sort: insertionSort, toSorted }, onShortArray),
  ...named(Array.prototype, { indexOf, lastIndexOf, includes }, onCompared),
  ...named(Array.prototype, { at, join }, onArrayLike),
  [
    Array.prototype.toString,
    join,
    (t, receiver, args) =>
      onArrayLike(t, receiver, args) && joinsNatively(t, receiver) && isPristine(t, 'joined'),
  ],
  [
    Array.prototype.slice,
    slice,
    (t, receiver, args) => onArrayLike(t, receiver, args) && !isArray(t, receiver),
  ],
  [Array.prototype.toLocaleString, localeText, (_t, receiver) => isArrayLike(receiver)],
  [Array.from, from, (t, receiver, [, f]) => isCallable(f) && makesArrays(t, receiver)],
  [Map.prototype.forEach, collections.forEach, onCollection('Map', Map.prototype.entries)],
  [Set.prototype.forEach, collections.forEach, onCollection('Set', Set.prototype.entries)],
  [Object.prototype.isPrototypeOf, objects.isAbove, onObject],
  [Object.prototype.propertyIsEnumerable, objects.isEnumerable, onObject],
  [Object.prototype.toLocaleString, objects.objectToLocaleString, onObject],
  [Object.getOwnPropertyDescriptors, objects.getOwnPropertyDescriptors, ofObject],
  [
    Reflect.construct,
    objects.construct,
    (_t, _receiver, [type, args, target]) =>
      isCallable(type) && args !== undefined && isObjectVariable(args) && !target,
  ],
  [Date.prototype.toJSON, dates.toJSON, isDate],
  ...named(
    Object.prototype,
    { __lookupGetter__: objects.lookupGetter, __lookupSetter__: objects.lookupSetter },
    onObject,
  ),
  ...named(
    Object.prototype,
    { __defineGetter__: objects.defineGetter, __defineSetter__: objects.defineSetter },
    (t, receiver, args) => onObject(t, receiver, args) && isCallable(args[1]),
  ),
  [Error.prototype.toString, objects.errorToString, onObject],
  [String.raw as unknown as AnyFunction, objects.raw, ofObject],
  [
    structuredClone as AnyFunction,
    clone.structured,
    (t, _receiver, args) => args.length === 1 && isCloneable(t, args[0]),
  ],
  [JSON.stringify, json.stringify, (t, _receiver, [value]) => isTree(t, value)],
  [JSON.parse, json.parse, (t, _receiver, [, reviver]) => readsKeyAndValue(t, reviver)],
];

const onSet: Equivalent['fits'] = (t, receiver, [other]) =>
  asPlainCollection(t, receiver, 'Set') !== undefined &&
  other !== undefined &&
  (asPlainCollection(t, other, 'Set') ?? asPlainCollection(t, other, 'Map')) !== undefined;

const onIterator: Equivalent['fits'] = (_t, { kind }) =>
  kind === 'iterator' || kind === 'generator';

const calledOnIterator: Equivalent['fits'] = (t, receiver, args) =>
  isCallable(args[0]) && onIterator(t, receiver, args);

const countsFrom =
  (least: number): Equivalent['fits'] =>
  (t, receiver, args) => {
    const [argument] = args;
    const count = argument && isPrimitiveVariable(argument) ? constantOf(t, argument) : undefined;
    const isCount = typeof count === 'number' && Math.trunc(count) >= least;
    return isCount && onIterator(t, receiver, args);
  };

const groupsItems: Equivalent['fits'] = (t, receiver, [items = undefinedVariable, keyOf]) =>
  isCallable(keyOf) &&
  (onIterator(t, items, []) ||
    (asArray(t, items) ?? asCollection(t, items, 'Map', 'Set')) !== undefined);

const iteratorPrototype: object = Object.getPrototypeOf(Object.getPrototypeOf([].values()));

const { toArray, ...callingBack } = iterators;
const { take, drop, ...callingBackLazily } = iteratorHelpers;
const ofIterators = { ...callingBack, ...callingBackLazily };

/** Functions that some of the supported engines lack. */
const newerRows: readonly Row[] = [
  ...named(Set.prototype, sets, onSet),
  ...named(iteratorPrototype, { toArray }, onIterator),
  ...named(iteratorPrototype, ofIterators, calledOnIterator),
  ...named(iteratorPrototype, { take }, countsFrom(1)),
  ...named(iteratorPrototype, { drop }, countsFrom(0)),
  ...named(Object, { groupBy: groups.objectGroupBy }, groupsItems),
  ...named(Map, { groupBy: groups.mapGroupBy }, groupsItems),
];

const typedBase: { readonly prototype: object } = Object.getPrototypeOf(Int32Array);

const joining: ReadonlySet<unknown> = new Set([
  Array.prototype.join,
  Reflect.get(typedBase.prototype, 'join'),
]);

const onTypedArray: Equivalent['fits'] = (_t, receiver, [callback]) =>
  isCallable(callback) &&
  (receiver.kind === 'newTypedArray' ||
    (receiver.kind === 'object' &&
      ArrayBuffer.isView(receiver.value) &&
      isSmallArray(receiver.value)));

/** Accepts pre-existing typed arrays, whose writes are replayed after the run. */
const onOuterTypedArray: Equivalent['fits'] = (_t, receiver, args) =>
  receiver.kind === 'object' &&
  isOuterTypedArray(receiver) &&
  isSmallArray(receiver.value) &&
  args.every(isPrimitiveVariable);

/** Accepts the items of a list or of another typed array. */
const ofItems: Equivalent['fits'] = (t, receiver, [items, ...rest]) =>
  items !== undefined &&
  onOuterTypedArray(t, receiver, rest) &&
  (asArray(t, items) !== undefined ||
    items.kind === 'newTypedArray' ||
    (items.kind === 'object' && isOuterTypedArray(items) && isSmallArray(items.value)));

const { from: typedFrom, map: typedMap, filter: typedFilter, set, ...writing } = typedArrays;

/** Typed arrays share the array polyfills that don't create an array. */
const typedRows: readonly Row[] = [
  ...named(typedBase.prototype, readingArrays, onTypedArray),
  ...named(typedBase.prototype, { map: typedMap, filter: typedFilter }, onTypedArray),
  ...named(
    typedBase.prototype,
    { indexOf, lastIndexOf, includes, at, join, toLocaleString: localeText },
    onArrayLike,
  ),
  ...named(typedBase.prototype, writing, onOuterTypedArray),
  ...named(typedBase.prototype, { set }, ofItems),
  ...named(
    typedBase,
    { from: typedFrom },
    (_t, receiver) => receiver.kind === 'function' && typedArrayTypes.has(receiver.value),
  ),
];

const table = new Map<unknown, Equivalent>(
  [...rows, ...typedRows, ...newerRows].map(([host, body, fits]) => [
    host,
    { body: body as AnyFunction, fits },
  ]),
);

/** Polyfills for arrays of data-dependent length. */
const ofLists = new Map<unknown, AnyFunction>(
  Object.entries(lists).map(([name, body]) => [Reflect.get(Array.prototype, name), body]),
);

/** Polyfills for arrays of user classes. */
const ofClasses = new Map<unknown, { readonly body: AnyFunction; readonly callsBack: boolean }>(
  Object.entries(arrayClasses).map(([name, body]) => [
    name === 'of' || name === 'from' ? Array[name] : Array.prototype[name as 'map'],
    { body: body as AnyFunction, callsBack: ['map', 'filter', 'flatMap'].includes(name) },
  ]),
);

function ofClass(t: Tracer, fn: AnyFunction, receiver: Variable, args: readonly Variable[]) {
  const found = ofClasses.get(fn);
  if (!found || (found.callsBack && !isCallable(args[0]))) return undefined;
  const isMeant =
    found.body === arrayClasses.of || found.body === arrayClasses.from
      ? isArrayClass(receiver)
      : [receiver, ...(found.body === arrayClasses.concat ? args : [])].some(isOfArrayClass);
  if (!isMeant || isPrimitiveVariable(receiver)) return undefined;
  if (isOfArrayClass(receiver)) expectClass(t, readProperty(t, receiver, 'constructor'));
  return found.body;
}

/** Breaks the graph if an array's class is a primitive, for which the native method throws midway. */
function expectClass(t: Tracer, variable: Variable): void {
  const type = specialized(variable);
  if (isPrimitiveVariable(type) && !isUndefined(t, type)) {
    throw new GraphBreak('native-call', 'the class of an array is a primitive');
  }
}

function bodyFor(
  t: Tracer,
  fn: AnyFunction,
  receiver: Variable,
  args: readonly Variable[],
): AnyFunction | undefined {
  const forClass = ofClass(t, fn, receiver, args);
  if (forClass) return forClass;
  const ofList = growableIn(t, receiver) ? ofLists.get(fn) : undefined;
  if (ofList) {
    const sorts = ofList === lists.sort || ofList === lists.toSorted;
    if (sorts && !isCallable(args[0])) throw needsElements(fn.name, ' without a comparison');
    return ofList;
  }
  const equivalent = table.get(fn);
  if (!equivalent?.fits(t, receiver, args)) return undefined;
  const { body } = equivalent;
  return body === insertionSort && isRanked(t, receiver) ? sortByRank : body;
}

function isRanked(t: Tracer, receiver: Variable): boolean {
  const { closure, pc } = t.top;
  if (t.control.plans.sortOf(closure.code, pc) !== 'ranked') return false;
  return !isBetterAsList(t, arrayLength(t, asArray(t, receiver)!));
}

/** Protocols that a polyfill's body looks up although the native function doesn't. */
const lookedUp = new Map<unknown, readonly Protocol[]>([
  [filter, ['callback', 'list']],
  [flatMap, ['callback', 'list']],
  [arrays.reduce, []],
  [arrays.reduceRight, []],
  [toSorted, ['array', 'sorted']],
  [insertionSort, ['list']],
  [sortByRank, ['list']],
  [dates.toJSON, ['dated']],
  [clone.structured, ['entries', 'map', 'set', 'array', 'filledMap', 'filledSet', 'cloned']],
  [collections.forEach, ['callback', 'entries', 'map', 'set', 'array']],
  ...Object.values(sets).map((body) => [body, ['members', 'map', 'set', 'iterator']] as const),
  ...Object.values(iterators).map((body) => [body, ['iterator', 'generator']] as const),
  ...Object.values(iteratorHelpers).map((body) => [body, ['iterator', 'generator']] as const),
  ...Object.values(groups).map((body) => [body, ['list']] as const),
  ...Object.values(lists).map((body) => [body, ['callback', 'list', 'array', 'sorted']] as const),
]);

const callbackOnly: readonly Protocol[] = ['callback'];

/** Returns the polyfill of a native function for this call, with its extra arguments; undefined if it has none. */
export function polyfillOf(
  t: Tracer,
  fn: AnyFunction,
  receiver: Variable,
  args: readonly Variable[],
): { readonly closure: Closure; readonly args: readonly Variable[] } | undefined {
  const body = bodyFor(t, fn, receiver, args);
  if (!body) return undefined;
  if (!(lookedUp.get(body) ?? callbackOnly).every((each) => isPristine(t, each))) return undefined;
  const found = t.codeOf.ownAlone(body);
  if (isRefused(found)) return undefined;
  notePolyfill(found.closure.code);
  const { closure } = found;
  return { closure, args: sortArguments(t, body, args) ?? args };
}
