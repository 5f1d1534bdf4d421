/**
 * Methods that the language itself looks up to iterate or to fill a collection. The tracer performs them without
 * calling anything if they have not been replaced.
 */

import type { InheritedProperty } from '../../guards/guard.ts';
import { inheritedProperty } from '../../guards/inherited-property.ts';
import type { Tracer } from '../state/tracer.ts';
import { helperPrototype } from '../variables/helper-prototype.ts';

const prototypeOf = (value: object): object => Object.getPrototypeOf(value) as object;

const generator = prototypeOf(function* () {}.prototype as object);
const anyIterator = prototypeOf(prototypeOf([][Symbol.iterator]()));

type Place = readonly [holder: object, key: string | symbol];

const iteration = (prototype: object, iterator: object): readonly Place[] => [
  [prototype, Symbol.iterator],
  [prototypeOf(iterator), 'next'],
];

const ofHelper = (key: string): readonly Place[] =>
  helperPrototype ? [[helperPrototype, key]] : [];

const places = {
  array: iteration(Array.prototype, [][Symbol.iterator]()),
  string: iteration(String.prototype, ''[Symbol.iterator]()),
  map: iteration(Map.prototype, new Map()[Symbol.iterator]()),
  set: iteration(Set.prototype, new Set()[Symbol.iterator]()),
  /** Built-in iterators, when they are iterated themselves. */
  iterator: [[anyIterator, Symbol.iterator]],
  generator: [
    [anyIterator, Symbol.iterator],
    [generator, 'next'],
  ],
  helper: [[anyIterator, Symbol.iterator], ...ofHelper('next')],
  /** Called when a loop is left early. */
  'array return': [[prototypeOf([][Symbol.iterator]()), 'return']],
  'map return': [[prototypeOf(new Map()[Symbol.iterator]()), 'return']],
  'set return': [[prototypeOf(new Set()[Symbol.iterator]()), 'return']],
  'generator return': [[generator, 'return']],
  'helper return': ofHelper('return'),
  /** Used by `polyfills/`, which represent native functions that make no lookups. */
  callback: [[Function.prototype, 'call']],
  sorted: [[Array.prototype, 'sort']],
  /** Called by `toString` of arrays. */
  joined: [[Array.prototype, 'join']],
  entries: [
    [Map.prototype, 'entries'],
    [Set.prototype, 'entries'],
  ],
  list: [[Array.prototype, 'push']],
  /** Also called by methods of Sets that take another Set or Map. */
  members: [Map.prototype, Set.prototype].flatMap((type) =>
    (['has', 'keys', 'size'] as const).map((key) => [type, key] as const),
  ),
  filledMap: [[Map.prototype, 'set']],
  filledSet: [[Set.prototype, 'add']],
  filledWeakMap: [[WeakMap.prototype, 'set']],
  filledWeakSet: [[WeakSet.prototype, 'add']],
  cloned: [
    [Map.prototype, 'get'],
    [Set.prototype, 'values'],
  ],
  /** Used by `Promise.all` and similar methods. */
  promise: [
    [Promise, 'resolve'],
    [Promise.prototype, 'then'],
    [Promise.prototype, 'constructor'],
  ],
  /** Called by `toJSON` of dates. */
  dated: [[Date.prototype, 'toISOString']],
} as const satisfies Record<string, readonly Place[]>;

export type Protocol = keyof typeof places;

/** The built-in protocols as of loading this file. */
const pristine = new Map<Protocol, readonly InheritedProperty[]>(
  Object.entries(places).map(([name, each]) => [
    name as Protocol,
    each.map(([holder, key]) => inheritedProperty(holder, key)),
  ]),
);

/** Returns whether the protocol is unmodified; the trace depends on that from now on. */
export function isPristine(t: Tracer, protocol: Protocol): boolean {
  const known = pristine.get(protocol)!;
  return places[protocol].every(([holder, key], i) => {
    const { getter, value } = t.inherited.read(holder, key);
    return getter === known[i]!.getter && value === known[i]!.value;
  });
}
