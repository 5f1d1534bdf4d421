/** Methods of Map, Set, WeakMap and WeakSet, and of the built-in iterators. */

import { ask } from '../../guards/query.ts';
import {
  asCollection,
  type CollectionVariable,
  clearEntries,
  deleteEntry,
  getEntry,
  hasEntry,
  setEntry,
} from '../heap/collections.ts';
import { expectHeldWeakly } from '../heap/weak-keys.ts';
import { isResultRead } from '../state/current-instruction.ts';
import type { Tracer } from '../state/tracer.ts';
import { nextOf, returnOf, throwInto } from '../values/generators.ts';
import { advanceIterator, iteratorOver } from '../values/iterators.ts';
import { helperPrototype } from '../variables/helper-prototype.ts';
import type { IteratorVariable } from '../variables/iterator-variables.ts';
import {
  known,
  type NewObjectVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import type { Builtin, BuiltinTable, HostFunction } from './builtin.ts';

type Body = (
  t: Tracer,
  collection: CollectionVariable,
  args: readonly Variable[],
  receiver: Variable,
) => Variable;

function on(type: string, body: Body): Builtin {
  return (t, receiver, args) => {
    const collection = asCollection(t, receiver, type);
    return collection && body(t, collection, args, receiver);
  };
}

const first = ([key = undefinedVariable]: readonly Variable[]): Variable => key;

const get: Body = (t, map, args) => getEntry(t, map, first(args));
const has: Body = (t, collection, args) => hasEntry(t, collection, first(args));
const remove: Body = (t, collection, args) =>
  deleteEntry(t, collection, first(args), isResultRead(t.top));
const set: Body = (t, map, [key = undefinedVariable, value = undefinedVariable], receiver) => {
  setEntry(t, map, 'set', { key, value });
  return receiver;
};
/** Rejects a primitive key before anything is written. */
const heldWeakly =
  (type: 'WeakMap' | 'WeakSet', body: Body): Body =>
  (t, collection, args, receiver) => {
    expectHeldWeakly(t, type, first(args));
    return body(t, collection, args, receiver);
  };

const add: Body = (t, collection, args, receiver) => {
  setEntry(t, collection, 'add', { key: first(args), value: first(args) });
  return receiver;
};
const clear: Body = (t, collection) => {
  clearEntries(t, collection);
  return undefinedVariable;
};

const iterated =
  (what: IteratorVariable['what']): Body =>
  (t, collection) =>
    iteratorOver(t, collection, what);

function isWeakRef(value: object): boolean {
  try {
    ask('target', value);
    return true;
  } catch {
    return false;
  }
}

/** `ref.deref()`: in the job that created the reference or called `deref()`, the target is alive. */
const deref: Builtin = (t, receiver) => {
  if (receiver.kind === 'object') {
    const { source: base, value } = receiver;
    const query = { kind: 'query', base, query: 'target', key: undefined } as const;
    return isWeakRef(value) ? t.read(query, ask('target', value)) : undefined;
  }
  if (receiver.kind !== 'newCollection' || receiver.type !== 'WeakRef') return undefined;
  const [target] = receiver.entries.values();
  return target?.value;
};

/** `iterator.next()` */
const next: Builtin = (t, receiver) => {
  if (receiver.kind !== 'iterator') return undefined;
  const element = advanceIterator(t, receiver);
  const entries = new Map<string, Variable>([
    ['value', element ?? undefinedVariable],
    ['done', known(element === null)],
  ]);
  return { kind: 'newObject', entries } satisfies NewObjectVariable;
};

/** `generator.next(sent)`, `generator.return(value)` and `generator.throw(error)` */
const driven =
  (drive: typeof nextOf): Builtin =>
  (t, receiver, [sent = undefinedVariable]) => {
    if (receiver.kind !== 'generator') return undefined;
    const { value, done } = drive(t, receiver, sent);
    const entries = new Map<string, Variable>([
      ['value', value],
      ['done', known(done)],
    ]);
    return { kind: 'newObject', entries } satisfies NewObjectVariable;
  };

const generatorPrototype = Object.getPrototypeOf(function* () {}.prototype) as {
  next: HostFunction;
  return: HostFunction;
  throw: HostFunction;
};

const helpers = helperPrototype as typeof generatorPrototype | undefined;

/** `next` and `return` of iterator helpers, which ignore their arguments. */
const helperBuiltins: BuiltinTable = helpers
  ? (
      [
        [helpers.next, nextOf],
        [helpers.return, returnOf],
      ] as const
    ).map(([fn, drive]) => [
      fn,
      (t, receiver) =>
        receiver.kind === 'generator' && receiver.helper
          ? driven(drive)(t, receiver, [])
          : undefined,
    ])
  : [];

const hostNext = (iterator: object): HostFunction =>
  (Object.getPrototypeOf(iterator) as { next: HostFunction }).next;

const iteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())) as {
  [Symbol.iterator]: HostFunction;
};

export const collectionBuiltins: BuiltinTable = [
  [Map.prototype.get, on('Map', get)],
  [Map.prototype.has, on('Map', has)],
  [Map.prototype.set, on('Map', set)],
  [Map.prototype.delete, on('Map', remove)],
  [Map.prototype.clear, on('Map', clear)],
  [Map.prototype.keys, on('Map', iterated('keys'))],
  [Map.prototype.values, on('Map', iterated('values'))],
  [Map.prototype.entries, on('Map', iterated('entries'))],
  [Set.prototype.has, on('Set', has)],
  [Set.prototype.add, on('Set', add)],
  [Set.prototype.delete, on('Set', remove)],
  [Set.prototype.clear, on('Set', clear)],
  [Set.prototype.values, on('Set', iterated('values'))],
  [Set.prototype.entries, on('Set', iterated('entries'))],
  [WeakMap.prototype.get, on('WeakMap', get)],
  [WeakMap.prototype.has, on('WeakMap', has)],
  [WeakMap.prototype.set, on('WeakMap', heldWeakly('WeakMap', set))],
  [WeakMap.prototype.delete, on('WeakMap', remove)],
  [WeakSet.prototype.has, on('WeakSet', has)],
  [WeakSet.prototype.add, on('WeakSet', heldWeakly('WeakSet', add))],
  [WeakSet.prototype.delete, on('WeakSet', remove)],
  [WeakRef.prototype.deref, deref],
  [hostNext([][Symbol.iterator]()), next],
  [hostNext(new Map().keys()), next],
  [hostNext(new Set().keys()), next],
  [generatorPrototype.next, driven(nextOf)],
  [generatorPrototype.return, driven(returnOf)],
  [generatorPrototype.throw, driven(throwInto)],
  ...helperBuiltins,
  [
    iteratorPrototype[Symbol.iterator],
    (_t, receiver) =>
      receiver.kind === 'iterator' || receiver.kind === 'generator' ? receiver : undefined,
  ],
];
