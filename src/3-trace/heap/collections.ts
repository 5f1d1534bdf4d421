/** Reads and changes Maps and Sets, both pre-existing ones and those created in the trace. */

import {
  type CollectionType,
  callNative,
  collectionType,
  isPlainCollection,
} from '../../guards/collection-slots.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import { isProxy } from '../../guards/plain.ts';
import type { LookupMethod, Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { append, OwnMap } from '../../vm/language/primordials.ts';
import { TakenBefore } from '../control-flow/lists/growable-array.ts';
import type { CollectionChange } from '../effects/effects.ts';
import type { WrittenEntries, WrittenEntry } from '../effects/written-entries.ts';
import { expectLasting } from '../state/symbolic-guards.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { present, resolved, specialized } from '../variables/unions.ts';
import {
  absent,
  type CollectionEntry,
  isPrimitive,
  known,
  type NewCollectionVariable,
  type ObjectVariable,
  type SymbolicVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { changingKey, isMadeInside, keptKey, keyIdentity } from './collection-keys.ts';
import { makeRoom, settleOrder } from './key-order.ts';

export type CollectionVariable = NewCollectionVariable | ObjectVariable;

/** Returns the variable as a Map or Set, including instances of user subclasses. */
export function asCollection(
  t: Tracer,
  argument: Variable,
  ...types: readonly string[]
): CollectionVariable | undefined {
  const variable = specialized(argument);
  if (variable.kind === 'newCollection') {
    return types.includes(variable.type) ? variable : undefined;
  }
  if (variable.kind !== 'object' || isProxy(variable.value)) return undefined;
  const { value, source } = variable;
  const type = collectionType(value);
  if (!type || !types.includes(type)) return undefined;
  const plain = isPlainCollection(value);
  t.guard(`collection ${sourceKey(source)}`, { kind: 'collection', source, type, plain });
  return variable;
}

/** Returns the variable as a Map or Set of the built-in class itself, whose methods can't be overridden. */
export function asPlainCollection(
  t: Tracer,
  value: Variable,
  type: CollectionType,
): CollectionVariable | undefined {
  const variable = specialized(value);
  if (variable.kind === 'object' && (isProxy(variable.value) || !isPlainCollection(variable.value)))
    return undefined;
  if (variable.kind === 'newCollection' && variable.own) return undefined;
  return asCollection(t, variable, type);
}

/** Returns true for a `WeakMap` or `WeakSet`, which can't be iterated. */
export const isWeak = ({ type }: NewCollectionVariable): boolean => type.startsWith('Weak');

/**
 * Returns the content that represents a pre-existing Map or Set in the trace, if there is one; otherwise the collection
 * itself.
 */
function taken(t: Tracer, collection: CollectionVariable): CollectionVariable {
  if (collection.kind === 'newCollection') return collection;
  const { value, source } = collection;
  t.effects.met.touchContent(value, source);
  return t.effects.collection(value)?.content ?? collection;
}

/**
 * Like `taken`, before a change. In a branch or loop, the content must be represented before the region begins, so that
 * all paths start from the same one.
 */
function changeable(t: Tracer, collection: CollectionVariable): CollectionVariable {
  const content = taken(t, collection);
  if (content.kind === 'newCollection' || !t.isInRegion) return content;
  const type = collectionType(content.value);
  if (type === 'Map' || type === 'Set') throw new TakenBefore(() => takeOver(t, content, type));
  throw new GraphBreak(
    'branch-effect',
    `a branch or loop changes a pre-existing ${type}; a Map or Set can be changed there`,
  );
}

function takeOver(t: Tracer, outer: ObjectVariable, type: 'Map' | 'Set'): void {
  if (t.effects.collection(outer.value)) return;
  const content: NewCollectionVariable = {
    kind: 'newCollection',
    type,
    entries: new Map(entriesOf(t, outer)),
    putIn: [...putInto(t, outer)],
    outer,
  };
  t.effects.takeCollection(outer, content);
}

export function getEntry(t: Tracer, collection: CollectionVariable, key: Variable): Variable {
  const content = taken(t, collection);
  const id = keyIdentity(t, key, keysIn(t, content));
  const written = writtenEntry(t, content, id);
  const lookup = { method: 'get', key, id } as const;
  noteEntry(t, content, lookup);
  if (written !== undefined) return written?.value ?? undefinedVariable;
  return lookUp(t, content as ObjectVariable, lookup);
}

interface Lookup {
  readonly method: LookupMethod;
  readonly key: Variable;
  readonly id: unknown;
}

/** Notes that an entry is read, which the trace may have written. */
function noteEntry(t: Tracer, collection: CollectionVariable, lookup: Lookup): void {
  if (collection.kind === 'newCollection' || isMadeInside(lookup.id)) return;
  t.variables.reads?.source(entrySource(t, collection.source, lookup));
}

/** Whether the key was present before the write. An iteration in progress guards the set of keys. */
function contains({ value }: ObjectVariable, { all }: WrittenEntries, id: unknown): boolean {
  if (all) return all.has(id);
  return !isMadeInside(id) && callNative(value, 'has', id) === true;
}

/** Reads the content of a pre-existing collection before the trace. */
function lookUp(t: Tracer, { value, source }: ObjectVariable, lookup: Lookup): Variable {
  return t.read(entrySource(t, source, lookup), callNative(value, lookup.method, lookup.id));
}

function entrySource(t: Tracer, collection: Source, { method, key, id }: Lookup): Source {
  const changing = changingKey(t, key);
  return changing
    ? { kind: 'lookup', base: changing.source, plus: changing.plus, collection, method }
    : { kind: method === 'get' ? 'mapGet' : 'mapHas', base: collection, key: id };
}

export function hasEntry(t: Tracer, collection: CollectionVariable, key: Variable): Variable {
  const content = taken(t, collection);
  const id = keyIdentity(t, key, keysIn(t, content));
  const written = writtenEntry(t, content, id);
  const lookup = { method: 'has', key, id } as const;
  noteEntry(t, content, lookup);
  if (written !== undefined) return known(written !== null);
  return lookUp(t, content as ObjectVariable, lookup);
}

/** Returns undefined if the trace doesn't know, so that the collection itself must be read. */
function writtenEntry(
  t: Tracer,
  collection: CollectionVariable,
  id: unknown,
): CollectionEntry | null | undefined {
  if (collection.kind === 'newCollection') {
    const entry = collection.entries.get(id);
    return entry && present(entry.value) ? entry : null;
  }
  const state = t.collections.get(collection.value);
  if (state?.all) return state.all.get(id) ?? null;
  const written = state?.written.get(id);
  if (written !== undefined) return written;
  // No pre-existing collection can contain a key that was created in the trace.
  return isMadeInside(id) ? null : undefined;
}

export function setEntry(
  t: Tracer,
  collection: CollectionVariable,
  operation: 'set' | 'add',
  { key, value }: CollectionEntry,
): void {
  const content = changeable(t, collection);
  const id = keyIdentity(t, key, keysIn(t, content));
  const kept = keptKey(t, key, id);
  const entry = { key: kept, value: operation === 'add' ? kept : value };
  if (content.kind === 'newCollection') {
    makeRoom(t, content, id);
    const before = content.entries.get(id);
    if (!before || resolved(before.value) === absent) putIn(t, content, id);
    t.journal.keepMap(content.entries);
    content.entries.set(id, entry);
    return;
  }
  const state = writtenWith(t, content, key);
  const before = state.written.get(id);
  if (before === null) state.written.delete(id);
  if (!before && (before === null || !contains(content, state, id))) putIn(t, state, id);
  state.written.set(id, { ...entry, reinserted: before === null || before?.reinserted === true });
  state.all?.set(id, entry);
  change(t, content, operation, entry.key, operation === 'set' ? entry.value : null);
}

/** `isRead`: whether the code reads whether the entry was present. */
export function deleteEntry(
  t: Tracer,
  collection: CollectionVariable,
  key: Variable,
  isRead: boolean,
): Variable {
  const content = changeable(t, collection);
  const had = isRead ? hasEntry(t, content, key) : undefinedVariable;
  const id = keyIdentity(t, key, keysIn(t, content));
  if (content.kind === 'newCollection') {
    t.journal.keepMap(content.entries);
    content.entries.delete(id);
    return had;
  }
  const state = writtenWith(t, content, key);
  state.written.set(id, null);
  state.all?.delete(id);
  change(t, content, 'delete', key, null);
  return had;
}

export function clearEntries(t: Tracer, collection: CollectionVariable): void {
  const content = changeable(t, collection);
  if (content.kind === 'newCollection') {
    t.journal.keepMap(content.entries);
    content.entries.clear();
    return;
  }
  const state = stateOf(t, content);
  state.all = new OwnMap();
  change(t, content, 'clear', null, null);
}

export function sizeOf(t: Tracer, collection: CollectionVariable): Variable {
  const content = taken(t, collection);
  if (content.kind === 'newCollection') return known(entriesOf(t, content).size);
  const { value, source } = content;
  const size = callNative(value, 'size');
  const sizeSource: Source = isPlainCollection(value)
    ? { kind: 'property', base: source, key: 'size' }
    : { kind: 'query', base: source, query: 'entries', key: undefined };
  const before = t.read(sizeSource, size);
  if (!t.collections.has(value)) return before;
  const added = before.kind === 'symbolic' ? entriesAdded(t, content, true) : undefined;
  return added ? more(before as SymbolicVariable, added.length) : known(entriesOf(t, content).size);
}

function more({ expr, value }: SymbolicVariable, plus: number): SymbolicVariable {
  const args: NumberExpr[] = [expr, { kind: 'constant', value: plus }];
  const sum = (value as number) + plus;
  return { kind: 'symbolic', expr: { kind: 'apply', fn: '+', args }, value: sum, source: null };
}

/**
 * Returns the entries that the trace added to a pre-existing collection, in order; undefined if it changed or deleted
 * others. `mayReplace`: it may have replaced values of others.
 */
export function entriesAdded(
  t: Tracer,
  collection: CollectionVariable,
  mayReplace = false,
): readonly CollectionEntry[] | undefined {
  const content = taken(t, collection);
  if (content.kind === 'newCollection') return undefined;
  const state = t.collections.get(content.value);
  if (state?.all) return undefined;
  const added: CollectionEntry[] = [];
  for (const [id, entry] of state?.written ?? nothing) {
    if (!entry || entry.reinserted) return undefined;
    const wasThere =
      !isMadeInside(id) &&
      constantOf(t, lookUp(t, content, { method: 'has', key: entry.key, id })) === true;
    if (!wasThere) added.push(entry);
    else if (!mayReplace) return undefined;
  }
  return added;
}

const nothingPutIn: readonly unknown[] = [];

/** Returns the keys that the trace added so far. */
export function putInto(t: Tracer, collection: CollectionVariable): readonly unknown[] {
  const content = taken(t, collection);
  if (content.kind === 'newCollection') return content.putIn;
  return t.collections.get(content.value)?.putIn ?? nothingPutIn;
}

function putIn(t: Tracer, into: { readonly putIn: unknown[] }, id: unknown): void {
  t.journal.keepList(into.putIn);
  into.putIn.push(id);
}

const nothing = new Map<unknown, never>();

/** Visits the entries without iterators or pairs, whose iteration the user may have overridden. */
function forEachEntry<V>(collection: object, visit: (value: V, key: unknown) => void): void {
  callNative(collection, 'forEach', visit);
}

/** Returns all entries in insertion order. */
export function entriesOf(
  t: Tracer,
  collection: CollectionVariable,
): ReadonlyMap<unknown, CollectionEntry> {
  const content = taken(t, collection);
  if (content.kind === 'newCollection') {
    settleOrder(t, content);
    const entries = new OwnMap<unknown, CollectionEntry>();
    forEachEntry<CollectionEntry>(content.entries, (entry, key) => {
      if (present(entry.value)) entries.set(key, entry);
    });
    return entries;
  }
  const { value, source } = content;
  const state = t.collections.get(value);
  if (state?.all) return state.all;
  const keys: unknown[] = [];
  forEachEntry(value, (_, key) => append(keys, key));
  expectLasting(t, `members ${sourceKey(source)}`);
  t.guard(`members ${sourceKey(source)}`, { kind: 'members', source, keys });
  t.variables.reads?.query(source, 'entries');
  const all = new OwnMap<unknown, CollectionEntry>();
  for (let i = 0; i < keys.length; i++) all.set(keys[i], outerEntry(t, content, keys[i]));
  // Which of these keys has been written or deleted depends on the keys of the changes.
  for (const changed of state?.keys ?? []) keyIdentity(t, changed, keysOf(all));
  forEachEntry<WrittenEntry | null>(state?.written ?? nothing, (entry, id) => {
    if (!entry || entry.reinserted) all.delete(id);
    if (entry) all.set(id, entry);
  });
  if (state) t.journal.set(state, 'all', all);
  return all;
}

function outerEntry(t: Tracer, { value, source }: ObjectVariable, key: unknown): CollectionEntry {
  const held = isPrimitive(key)
    ? known(key)
    : t.read({ kind: 'held', value: key as object, name: 'a key' }, key);
  if (collectionType(value) === 'Set') return { key: held, value: held };
  const content = callNative(value, 'get', key);
  return { key: held, value: t.read({ kind: 'mapGet', base: source, key }, content) };
}

/** Yields the keys that the trace knows to be in a collection, or to have been written or deleted. */
function* keysIn(t: Tracer, collection: CollectionVariable): Iterable<Variable> {
  if (collection.kind === 'newCollection') {
    yield* keysOf(collection.entries);
    return;
  }
  const state = t.collections.get(collection.value);
  yield* state?.keys ?? [];
  if (state?.all) yield* keysOf(state.all);
}

function* keysOf(entries: ReadonlyMap<unknown, CollectionEntry>): Iterable<Variable> {
  for (const { key } of entries.values()) yield key;
}

function stateOf(t: Tracer, { value }: ObjectVariable): WrittenEntries {
  let state = t.collections.get(value);
  if (!state) {
    t.journal.keepMap(t.collections);
    state = { written: new Map(), all: null, putIn: [], keys: [] };
    t.collections.set(value, state);
  }
  const { all } = state;
  t.journal.note(() => {
    state.all = all;
  });
  t.journal.keepMap(state.written);
  if (all) t.journal.keepMap(all);
  return state;
}

/** Returns the state to record that a key is written or deleted. */
function writtenWith(t: Tracer, collection: ObjectVariable, key: Variable): WrittenEntries {
  const state = stateOf(t, collection);
  t.journal.keepList(state.keys);
  state.keys.push(key);
  return state;
}

function change(
  t: Tracer,
  { value: object, source }: ObjectVariable,
  operation: CollectionChange['operation'],
  key: Variable | null,
  value: Variable | null,
): void {
  t.effects.changeCollection({ object, collection: source, operation, key, value });
}
