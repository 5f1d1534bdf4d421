/** Array methods without callbacks. */

import { accessorOf, isProxy } from '../../guards/plain.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { isGrowable } from '../control-flow/lists/growable-array.ts';
import { needsElements } from '../control-flow/lists/list-elements.ts';
import { orRaise } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, isNullish, isUndefined } from '../state/value-guards.ts';
import { append, removeLast, setElement } from '../values/array-changes.ts';
import {
  type ArrayVariable,
  arrayElement,
  arrayElements,
  arrayLength,
  asArray,
  changeElements,
  elementsWithHoles,
  isArray,
  solid,
} from '../values/arrays.ts';
import { expand, iteratorOver } from '../values/iterators.ts';
import { growableElement } from '../values/lists.ts';
import { isOfArrayClass, makesArrays } from '../values/makes-arrays.ts';
import { guardTypedArray } from '../values/outer-typed-arrays.ts';
import { readProperty, readSymbol } from '../values/properties.ts';
import { isPristine } from '../values/protocols.ts';
import {
  isPrimitiveVariable,
  textOfPrimitive,
  textOfPrimitives,
  withPrimitive,
} from '../values/to-primitive.ts';
import { elementFromEnd, extendedArray } from '../values/varying-array.ts';
import type { IteratorVariable } from '../variables/iterator-variables.ts';
import { specialized } from '../variables/unions.ts';
import { hole, known, newArray, type Variable } from '../variables/variable.ts';
import type { Builtin, BuiltinTable } from './builtin.ts';
import { concat } from './concat.ts';
import { newElements } from './construct.ts';
import { mapRows, reduceRows, sliceRows } from './lists/repeated-callbacks.ts';

export type Body = (
  t: Tracer,
  array: ArrayVariable,
  args: readonly Variable[],
) => Variable | undefined;

/** Restricts a builtin to arrays. */
function onArray(body: Body): Builtin {
  return (t, receiver, args) => {
    const array = asArray(t, receiver);
    if (!array) return undefined;
    const result = body(t, array, args);
    // For a pre-existing array, the result is the array itself, not its content.
    return result === array ? receiver : result;
  };
}

/** Excludes arrays of data-dependent length, which `polyfills/lists.ts` handles. */
export function onKnownArray(body: Body): Builtin {
  return onArray((t, array, args) => (isGrowable(array) ? undefined : body(t, array, args)));
}

/** Excludes arrays of user classes, whose constructors create the result (`polyfills/array-classes.ts`). */
const makingPlain =
  (builtin: Builtin): Builtin =>
  (t, receiver, args) =>
    [receiver, ...args].some(isOfArrayClass) ? undefined : builtin(t, receiver, args);

export function integer(t: Tracer, variable: Variable | undefined, otherwise: number): number {
  if (!variable) return otherwise;
  const value = constantOf(t, variable);
  return value === undefined ? otherwise : Math.trunc(Number(value)) || 0;
}

/** Returns a position, which is counted from the end if negative. */
export function place(
  t: Tracer,
  variable: Variable | undefined,
  otherwise: number,
  length: number,
): number {
  const index = integer(t, variable, otherwise);
  return index < 0 ? Math.max(length + index, 0) : Math.min(index, length);
}

/** Arrays that are currently joined: an array nested in itself contributes no text. */
const joining = new WeakSet<object>();

function join(t: Tracer, array: ArrayVariable, [separator]: readonly Variable[]): Variable {
  const self = array.kind === 'object' ? array.value : array;
  if (joining.has(self)) return known('');
  joining.add(self);
  try {
    const delimiter = separator && !isUndefined(t, separator) ? separator : known(',');
    return withPrimitive(t, delimiter, 'string', (between) => joinElements(t, array, between));
  } finally {
    joining.delete(self);
  }
}

function joinElements(t: Tracer, array: ArrayVariable, separator: Variable): Variable {
  const between = known(textOfPrimitive(t, separator));
  const pieces = Array.from({ length: arrayLength(t, array) }, (_, i) => {
    const item = specialized(arrayElement(t, array, i));
    const isNothing = isPrimitiveVariable(item) && isNullish(t, item);
    return isNothing ? known('') : withPrimitive(t, item, 'string', (text) => text);
  });
  const parts = pieces.flatMap((piece, i) => (i === 0 ? [piece] : [between, piece]));
  return textOfPrimitives(t, parts);
}

function flatten(t: Tracer, array: ArrayVariable, depth: number): Variable[] {
  const items = elementsWithHoles(t, array).filter((item) => item !== hole);
  return items.flatMap((item) => {
    const inner = depth > 0 && isArray(t, item) ? asArray(t, item) : undefined;
    return inner ? flatten(t, inner, depth - 1) : [item];
  });
}

/** A method that visits elements one by one; breaks the graph for arrays of data-dependent length. */
function elementwise(method: string, body: Body): Builtin {
  return onArray((t, array, args) => {
    if (isGrowable(array)) throw needsElements(method);
    return body(t, array, args);
  });
}

/** Sorts by text, as without a comparator. Undefined elements come last, followed by holes. */
function sortedByText(t: Tracer, elements: readonly Variable[]): Variable[] {
  const there = elements.filter((item) => item !== hole);
  const isMissing = (item: Variable) => isPrimitiveVariable(item) && isUndefined(t, item);
  const missing = there.filter(isMissing);
  const texts = there
    .filter((item) => !missing.includes(item))
    .map((item) => ({
      item,
      text: withPrimitive(t, item, 'string', (text) => textOfPrimitive(t, text)),
    }));
  texts.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  const holes = new Array<Variable>(elements.length - there.length).fill(hole);
  return [...texts.map(({ item }) => item), ...missing, ...holes];
}

/** Writes the elements in their new order; with holes, replaces the whole content. */
function replaceElements(t: Tracer, array: ArrayVariable, next: readonly Variable[]): void {
  if (next.includes(hole)) {
    const elements = changeElements(t, array);
    elements.splice(0, elements.length, ...next);
    return;
  }
  for (const [i, element] of next.entries()) setElement(t, array, i, element);
}

/** Returns where `splice` starts, and how many elements it removes. */
function cut(t: Tracer, length: number, args: readonly Variable[]): readonly [number, number] {
  const start = place(t, args[0], 0, length);
  const count = args.length === 1 ? length - start : integer(t, args[1], 0);
  return [start, args.length === 0 ? 0 : Math.min(Math.max(count, 0), length - start)];
}

/** Returns the last elements of an array that grows with every call. */
function lastElements(t: Tracer, array: ArrayVariable, count: number): Variable[] | undefined {
  if (!(count >= 1 && count <= maxGuarded)) return undefined;
  const elements: Variable[] = [];
  for (let distance = count; distance > 0; distance--) {
    const element = elementFromEnd(t, array, distance);
    if (!element) return undefined;
    elements.push(element);
  }
  return elements;
}

/** Creates an iterator over an array, including instances of user array classes, or over a typed array. */
export function iterated(what: IteratorVariable['what']): Builtin {
  return (t, receiver) => {
    const array = asArray(t, receiver);
    if (array) return iteratorOver(t, array, what);
    if (receiver.kind === 'newTypedArray') return iteratorOver(t, receiver, what);
    if (receiver.kind !== 'object' || !isSmallArray(receiver.value)) return undefined;
    guardTypedArray(t, receiver);
    return iteratorOver(t, receiver, what);
  };
}

/**
 * The maximum length of arrays whose elements are guarded one by one; longer arrays are left to the native
 * function.
 */
const maxGuarded = 256;

const typedLength = accessorOf(Uint8Array.prototype, 'length')!.get;

/** Whether the value is such an array. Its length is read only if that runs no getter of the user. */
export function isSmallArray(value: object): boolean {
  if (isProxy(value)) return false;
  if (Array.isArray(value)) return value.length <= maxGuarded;
  const isTyped = ArrayBuffer.isView(value) && accessorOf(value, 'length')?.get === typedLength;
  return isTyped && (value as Uint8Array).length <= maxGuarded;
}

/** `Array.from(items)`, including array-likes; with a callback, only for arrays that grow with every call. */
function arrayFrom(t: Tracer, receiver: Variable, args: readonly Variable[]): Variable | undefined {
  if (!makesArrays(t, receiver)) return undefined;
  const [items, callback] = args;
  if (items && callback && args.length === 2 && !isOfArrayClass(items)) {
    return isPristine(t, 'array') ? mapRows(t, items, callback) : undefined;
  }
  if (args.length !== 1 || items === undefined) return undefined;
  const copy = isOfArrayClass(items) ? undefined : extendedArray(t, items);
  if (copy) return copy;
  if (isPrimitiveVariable(items) && isNullish(t, items)) return undefined;
  if (iteratedDirectly.has(items.kind)) return newArray(expand(t, items));
  const isIterable = isPrimitiveVariable(items)
    ? typeof constantOf(t, items) === 'string'
    : !isNullish(t, readSymbol(t, items, Symbol.iterator));
  if (isIterable) return newArray(expand(t, items));
  const size = isPrimitiveVariable(items) ? known(0) : readProperty(t, items, 'length');
  const length = withPrimitive(t, size, 'number', (primitive) => lengthIn(t, primitive));
  return newArray(Array.from({ length }, (_, i) => readProperty(t, items, String(i))));
}

const iteratedDirectly: ReadonlySet<Variable['kind']> = new Set([
  'newArray',
  'tensor',
  'dynamic',
  'iterator',
  'generator',
]);

/** Returns `ToLength` of a constant size, for arrays that are created as a whole in the trace. */
function lengthIn(t: Tracer, size: Variable): number {
  const length = Math.trunc(Number(constantOf(t, size))) || 0;
  if (length > 2 ** 16) throw new GraphBreak('native-call', `an array of length ${length} is made`);
  return Math.max(length, 0);
}

export const arrayBuiltins: BuiltinTable = [
  [Array.isArray, (t, _receiver, [x]) => known(x !== undefined && isArray(t, x))],
  [Array.of, (t, receiver, args) => (makesArrays(t, receiver) ? newArray(args) : undefined)],
  [Array.from, arrayFrom],
  [Array as unknown as () => unknown[], (t, _receiver, args) => newElements(t, args)],
  [
    Array.prototype.push,
    (t, receiver, args) => {
      const array = asArray(t, receiver, 'end');
      return array && append(t, array, args);
    },
  ],
  [Array.prototype.pop, onArray((t, array) => removeLast(t, array))],
  [Array.prototype.shift, onKnownArray((t, array) => solid(changeElements(t, array).shift()))],
  [
    Array.prototype.unshift,
    onKnownArray((t, array, args) => known(changeElements(t, array).unshift(...args))),
  ],
  [
    Array.prototype.splice,
    makingPlain(
      onKnownArray((t, array, args) => {
        const [start, removed] = cut(t, arrayLength(t, array), args);
        return newArray(changeElements(t, array).splice(start, removed, ...args.slice(2)));
      }),
    ),
  ],
  [
    Array.prototype.toSpliced,
    onKnownArray((t, array, args) => {
      const elements = arrayElements(t, array);
      const [start, removed] = cut(t, elements.length, args);
      elements.splice(start, removed, ...args.slice(2));
      return newArray(elements);
    }),
  ],
  [
    Array.prototype.copyWithin,
    onKnownArray((t, array, [target, start, end]) => {
      const elements = elementsWithHoles(t, array);
      const { length } = elements;
      const to = place(t, target, 0, length);
      const [from, stop] = [place(t, start, 0, length), place(t, end, length, length)];
      replaceElements(t, array, elements.copyWithin(to, from, stop));
      return array;
    }),
  ],
  [
    Array.prototype.reverse,
    onKnownArray((t, array) => {
      replaceElements(t, array, elementsWithHoles(t, array).reverse());
      return array;
    }),
  ],
  [
    Array.prototype.fill,
    onKnownArray((t, array, [value, start, end]) => {
      const length = arrayLength(t, array);
      const [from, to] = [place(t, start, 0, length), place(t, end, length, length)];
      const elements = changeElements(t, array);
      elements.fill(value ?? known(undefined), from, to);
      return array;
    }),
  ],
  [
    Array.prototype.sort,
    onKnownArray((t, array, [compare]) => {
      if (compare && !isUndefined(t, compare)) return undefined;
      replaceElements(t, array, sortedByText(t, elementsWithHoles(t, array)));
      return array;
    }),
  ],
  [
    Array.prototype.toSorted,
    onKnownArray((t, array, [compare]) => {
      if (compare && !isUndefined(t, compare)) return undefined;
      return newArray(sortedByText(t, arrayElements(t, array)));
    }),
  ],
  [
    Array.prototype.toReversed,
    onKnownArray((t, array) => newArray(arrayElements(t, array).reverse())),
  ],
  [
    Array.prototype.with,
    elementwise('with', (t, array, [index, value]) => {
      const elements = arrayElements(t, array);
      const at = integer(t, index, 0);
      return newArray(orRaise(t, () => elements.with(at, value ?? known(undefined))));
    }),
  ],
  [
    Array.prototype.slice,
    makingPlain(
      onKnownArray((t, array, [start, end]) => {
        const from = integer(t, start, 0);
        const last = end ? undefined : lastElements(t, array, -from);
        if (last) return newArray(last);
        const copy = end || from !== 0 ? undefined : extendedArray(t, array);
        if (copy) return copy;
        const rest = end || from < 1 ? undefined : sliceRows(t, array, from);
        if (rest) return rest;
        const elements = elementsWithHoles(t, array);
        const { length } = elements;
        return newArray(elements.slice(place(t, start, 0, length), place(t, end, length, length)));
      }),
    ),
  ],
  [
    Array.prototype.at,
    onArray((t, array, [index]) => {
      const at = integer(t, index, 0);
      if (isGrowable(array)) return growableElement(t, array, at, at < 0);
      const fromEnd = elementFromEnd(t, array, -at);
      if (fromEnd) return fromEnd;
      const i = at < 0 ? arrayLength(t, array) + at : at;
      return i < 0 || i >= arrayLength(t, array) ? known(undefined) : arrayElement(t, array, i);
    }),
  ],
  [Array.prototype.concat, makingPlain(concat)],
  [
    Array.prototype.map,
    makingPlain((t, receiver, args) =>
      args.length === 1 ? mapRows(t, receiver, args[0]!) : undefined,
    ),
  ],
  [
    Array.prototype.reduce,
    (t, receiver, [callback, initial]) => callback && reduceRows(t, receiver, callback, initial),
  ],
  [Array.prototype.join, elementwise('join', join)],
  [
    Array.prototype.toString,
    elementwise('toString', (t, array) =>
      isPristine(t, 'joined') ? join(t, array, []) : undefined,
    ),
  ],
  [
    Array.prototype.flat,
    makingPlain(
      elementwise('flat', (t, array, [depth]) => newArray(flatten(t, array, integer(t, depth, 1)))),
    ),
  ],
  [Array.prototype.values, iterated('values')],
  [Array.prototype.keys, iterated('keys')],
  [Array.prototype.entries, iterated('entries')],
];
