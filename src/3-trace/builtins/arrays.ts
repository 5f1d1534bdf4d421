/** Methods of arrays that call nothing back. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { append, removeLast, setElement } from '../array-changes.ts';
import {
  type ArrayVariable,
  arrayElement,
  arrayElements,
  arrayLength,
  asArray,
  changeElements,
  hasElement,
  isArray,
  solid,
  solidElements,
} from '../arrays.ts';
import { settled } from '../choices.ts';
import { newElements } from '../construct.ts';
import { sameValueZero, strictlyEqual } from '../equality.ts';
import { constantOf, isNullish } from '../facts.ts';
import { grownIn, isGrown } from '../graph-control/grown-array.ts';
import { needsElements } from '../graph-control/list-elements.ts';
import { appendGrown, grownElement } from '../graph-control/lists.ts';
import { textOfAll } from '../graph-control/text.ts';
import type { IteratorVariable } from '../iterator-variables.ts';
import { expand, iteratorOver } from '../iterators.ts';
import { readProperty } from '../properties.ts';
import type { Tracer } from '../tracer.ts';
import { known, type NewArrayVariable, newArray, type Variable } from '../variable.ts';
import type { Builtin, BuiltinTable } from './builtin.ts';

type Body = (t: Tracer, array: ArrayVariable, args: readonly Variable[]) => Variable | undefined;

/** On arrays of the language's own kind only. */
function onArray(body: Body): Builtin {
  return (t, receiver, args) => {
    const array = asArray(t, receiver);
    if (!array) return undefined;
    const result = body(t, array, args);
    // One from outside is not its content.
    return result === array ? receiver : result;
  };
}

/** Where only the program knows the length, others do it: see `equivalents/lists.ts`. */
function onKnownArray(body: Body): Builtin {
  return onArray((t, array, args) => (isGrown(array) ? undefined : body(t, array, args)));
}

function integer(t: Tracer, variable: Variable | undefined, otherwise: number): number {
  if (!variable) return otherwise;
  const value = constantOf(t, variable);
  return value === undefined ? otherwise : Math.trunc(Number(value)) || 0;
}

/** A place counted from the end when negative. */
function place(
  t: Tracer,
  variable: Variable | undefined,
  otherwise: number,
  length: number,
): number {
  const index = integer(t, variable, otherwise);
  return index < 0 ? Math.max(length + index, 0) : Math.min(index, length);
}

const isAbsent = (element: Variable): boolean =>
  element.kind === 'constant' && element.value === undefined;

function search(t: Tracer, array: ArrayVariable, args: readonly Variable[]): number {
  const item = args[0] ?? known(undefined);
  const length = arrayLength(t, array);
  for (let i = place(t, args[1], 0, length); i < length; i++) {
    const element = arrayElement(t, array, i);
    // A missing element is not found, though it reads as undefined.
    if (strictlyEqual(t, element, item) && (!isAbsent(element) || hasElement(t, array, i)))
      return i;
  }
  return -1;
}

const isNothing = (item: Variable): boolean =>
  item.kind === 'constant' && (item.value === undefined || item.value === null);

function join(t: Tracer, array: ArrayVariable, [separator]: readonly Variable[]): Variable {
  const between = separator ? constantOf(t, separator) : undefined;
  const text = between === undefined ? ',' : String(between);
  const items = arrayElements(t, array).map(settled);
  const pieces = items.map((item) => (isNothing(item) ? known('') : item));
  const made = textOfAll(
    t,
    pieces.flatMap((piece, i) => (i === 0 ? [piece] : [known(text), piece])),
  );
  if (made) return made;
  const parts = items.map((item) => {
    if (item.kind !== 'constant' && item.kind !== 'symbolic') {
      throw new GraphBreak('unsupported-value', `a ${item.kind} becomes text`);
    }
    return constantOf(t, item);
  });
  return known(parts.join(text));
}

function flatten(t: Tracer, array: ArrayVariable, depth: number): Variable[] {
  return solidElements(t, array).flatMap((item) => {
    const inner = depth > 0 && isArray(t, item) ? asArray(t, item) : undefined;
    return inner ? flatten(t, inner, depth - 1) : [item];
  });
}

function concat(t: Tracer, receiver: Variable, args: readonly Variable[]): Variable {
  const all = [receiver, ...args].map((part) => grownIn(t, part) ?? part);
  if (all.some(isGrown)) return concatLists(t, all);
  const parts = all.map((part) => {
    if (part.kind === 'object' && !Array.isArray(part.value)) {
      throw new GraphBreak('native-call', 'concat of an object');
    }
    if (!isArray(t, part)) return [part];
    const array = asArray(t, part);
    if (!array) throw new GraphBreak('native-call', 'concat of an array of another kind');
    return solidElements(t, array);
  });
  return newArray(parts.flat());
}

/** The length of some of the arrays only the program knows. */
function concatLists(t: Tracer, parts: readonly Variable[]): Variable {
  const result = newArray([]);
  for (const part of parts) {
    if (isGrown(part)) appendGrown(t, result, part);
    else append(t, result, (concat(t, part, []) as NewArrayVariable).elements);
  }
  return result;
}

/** Not where only the program knows the length. */
function elementwise(method: string, body: Body): Builtin {
  return onArray((t, array, args) => {
    if (isGrown(array)) throw needsElements(method);
    return body(t, array, args);
  });
}

/** Without a comparator: by text, and only what is text or a number already. */
function sortByText(t: Tracer, array: ArrayVariable): void {
  const items = solidElements(t, array).map((item) => ({ item, value: constantOf(t, item) }));
  if (items.some(({ value }) => typeof value === 'symbol')) {
    throw new GraphBreak('throw', 'symbols are sorted');
  }
  const texts = items.map(({ item, value }) => ({ item, value, text: String(value) }));
  const defined = texts.filter(({ value }) => value !== undefined);
  defined.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  const sorted = [...defined, ...texts.filter(({ value }) => value === undefined)];
  for (const [i, { item }] of sorted.entries()) setElement(t, array, i, item);
}

function iterated(what: IteratorVariable['what']): Builtin {
  return onArray((t, array) => iteratorOver(t, array, what));
}

/** `Array.from(items)`, also of what only has a length. */
function arrayFrom(
  t: Tracer,
  _receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  const [items] = args;
  if (args.length !== 1 || items === undefined) return undefined;
  if (items.kind === 'newObject' && !items.prototype) {
    const length = constantOf(t, readProperty(t, items, 'length')) as number;
    return newArray(Array.from({ length }, (_, i) => readProperty(t, items, String(i))));
  }
  return newArray(expand(t, items));
}

export const arrayBuiltins: BuiltinTable = [
  [Array.isArray, (t, _receiver, [x]) => known(x !== undefined && isArray(t, x))],
  [Array.of, (_t, _receiver, args) => newArray(args)],
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
    onKnownArray((t, array, args) => {
      const length = arrayLength(t, array);
      if (args.length === 0) return newArray([]);
      const start = place(t, args[0], 0, length);
      const count = args.length === 1 ? length - start : integer(t, args[1], 0);
      const removed = Math.min(Math.max(count, 0), length - start);
      return newArray(changeElements(t, array).splice(start, removed, ...args.slice(2)));
    }),
  ],
  [
    Array.prototype.reverse,
    onKnownArray((t, array) => {
      const elements = solidElements(t, array).reverse();
      for (const [i, element] of elements.entries()) setElement(t, array, i, element);
      return array;
    }),
  ],
  [
    Array.prototype.fill,
    onKnownArray((t, array, [value, start, end]) => {
      const length = arrayLength(t, array);
      const elements = changeElements(t, array);
      const [from, to] = [place(t, start, 0, length), place(t, end, length, length)];
      elements.fill(value ?? known(undefined), from, to);
      return array;
    }),
  ],
  [
    Array.prototype.sort,
    onKnownArray((t, array, [compare]) => {
      if (compare && !isNullish(t, compare)) return undefined;
      sortByText(t, array);
      return array;
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
      return newArray(elements.with(integer(t, index, 0), value ?? known(undefined)));
    }),
  ],
  [
    Array.prototype.slice,
    onKnownArray((t, array, [start, end]) => {
      const elements = solidElements(t, array);
      const { length } = elements;
      return newArray(elements.slice(place(t, start, 0, length), place(t, end, length, length)));
    }),
  ],
  [
    Array.prototype.at,
    onArray((t, array, [index]) => {
      const at = integer(t, index, 0);
      if (isGrown(array)) return grownElement(t, array, at, at < 0);
      const i = at < 0 ? arrayLength(t, array) + at : at;
      return i < 0 || i >= arrayLength(t, array) ? known(undefined) : arrayElement(t, array, i);
    }),
  ],
  [Array.prototype.concat, concat],
  [Array.prototype.join, elementwise('join', join)],
  [Array.prototype.indexOf, onKnownArray((t, array, args) => known(search(t, array, args)))],
  [
    Array.prototype.includes,
    onKnownArray((t, array, [item = known(undefined)]) =>
      known(arrayElements(t, array).some((each) => sameValueZero(t, each, item))),
    ),
  ],
  [
    Array.prototype.flat,
    elementwise('flat', (t, array, [depth]) => newArray(flatten(t, array, integer(t, depth, 1)))),
  ],
  [Array.prototype.values, iterated('values')],
  [Array.prototype.keys, iterated('keys')],
  [Array.prototype.entries, iterated('entries')],
];
