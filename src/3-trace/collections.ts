/** Maps and Sets made inside and from outside, read and changed the same way. */

import { collectionType, isProxy } from '../guards/plain.ts';
import { sourceKey } from '../guards/source-key.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import { present, resolved, settled } from './choices.ts';
import type { CollectionChange } from './effects.ts';
import { constantOf } from './facts.ts';
import { expectIdentity } from './graph-control/listed.ts';
import { numberNeeded } from './number-needed.ts';
import { textAsked } from './text.ts';
import type { Tracer } from './tracer.ts';
import {
  absent,
  type CollectionEntry,
  isPrimitive,
  known,
  type NewCollectionVariable,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from './variable.ts';

export type CollectionVariable = NewCollectionVariable | ObjectVariable;

/** What the trace knows of a Map or Set from outside. */
export interface OuterCollection {
  /** Keys that the trace has written; null: deleted. */
  readonly written: Map<unknown, CollectionEntry | null>;
  /** All entries, once their number or order mattered. */
  all: Map<unknown, CollectionEntry> | null;
}

/** The variable as a Map or Set of the language's own kind. */
export function asCollection(
  t: Tracer,
  given: Variable,
  ...types: readonly string[]
): CollectionVariable | undefined {
  const variable = settled(given);
  if (variable.kind === 'newCollection') {
    return types.includes(variable.type) ? variable : undefined;
  }
  if (variable.kind !== 'object' || isProxy(variable.value)) return undefined;
  const { value, source } = variable;
  const type = collectionType(value);
  if (!type || !types.includes(type)) return undefined;
  t.guard(`collection ${sourceKey(source)}`, { kind: 'collection', source, type });
  return variable;
}

export function getEntry(t: Tracer, collection: CollectionVariable, key: Variable): Variable {
  const id = keyIdentity(t, key);
  const written = writtenEntry(t, collection, id);
  if (written !== undefined) return written?.value ?? undefinedVariable;
  const { value, source } = collection as ObjectVariable;
  const map = value as ReadonlyMap<unknown, unknown>;
  return t.read({ kind: 'mapGet', base: source, key: id }, map.get(id));
}

export function hasEntry(t: Tracer, collection: CollectionVariable, key: Variable): Variable {
  const id = keyIdentity(t, key);
  const written = writtenEntry(t, collection, id);
  if (written !== undefined) return known(written !== null);
  const { value, source } = collection as ObjectVariable;
  const map = value as ReadonlyMap<unknown, unknown>;
  return t.read({ kind: 'mapHas', base: source, key: id }, map.has(id));
}

/** Undefined: only the collection itself knows. */
function writtenEntry(
  t: Tracer,
  collection: CollectionVariable,
  id: unknown,
): CollectionEntry | null | undefined {
  if (collection.kind === 'newCollection') {
    const entry = collection.entries.get(id);
    return entry && present(entry.value) ? entry : null;
  }
  t.effects.met.touchContent(collection.value, collection.source);
  const state = t.collections.get(collection.value);
  if (state?.all) return state.all.get(id) ?? null;
  const written = state?.written.get(id);
  if (written !== undefined) return written;
  // What the trace has made is in nothing that existed before.
  return isMadeInside(id) ? null : undefined;
}

const isMadeInside = (id: unknown): boolean => made.has(id as object);
const made = new WeakSet<object>();

export function setEntry(
  t: Tracer,
  collection: CollectionVariable,
  operation: 'set' | 'add',
  entry: CollectionEntry,
): void {
  const id = keyIdentity(t, entry.key);
  if (collection.kind === 'newCollection') {
    t.journal.keepMap(collection.entries);
    const existing = collection.entries.get(id);
    // What isn't there yet comes last.
    if (existing && resolved(existing.value) === absent) collection.entries.delete(id);
    collection.entries.set(id, entry);
    return;
  }
  const state = stateOf(t, collection);
  state.written.set(id, entry);
  state.all?.set(id, entry);
  change(t, collection, operation, entry.key, operation === 'set' ? entry.value : null);
}

export function deleteEntry(t: Tracer, collection: CollectionVariable, key: Variable): Variable {
  const had = hasEntry(t, collection, key);
  const id = keyIdentity(t, key);
  if (collection.kind === 'newCollection') {
    t.journal.keepMap(collection.entries);
    collection.entries.delete(id);
    return had;
  }
  const state = stateOf(t, collection);
  state.written.set(id, null);
  state.all?.delete(id);
  change(t, collection, 'delete', key, null);
  return had;
}

export function clearEntries(t: Tracer, collection: CollectionVariable): void {
  if (collection.kind === 'newCollection') {
    t.journal.keepMap(collection.entries);
    collection.entries.clear();
    return;
  }
  const state = stateOf(t, collection);
  state.all = new Map();
  change(t, collection, 'clear', null, null);
}

export function sizeOf(t: Tracer, collection: CollectionVariable): Variable {
  if (collection.kind === 'newCollection') return known(entriesOf(t, collection).length);
  const { value, source } = collection;
  t.effects.met.touchContent(value, source);
  if (t.collections.has(value)) return known(entriesOf(t, collection).length);
  const { size } = value as ReadonlySet<unknown>;
  return t.read({ kind: 'property', base: source, key: 'size' }, size);
}

/** All entries in their order. */
export function entriesOf(t: Tracer, collection: CollectionVariable): CollectionEntry[] {
  if (collection.kind === 'newCollection') {
    return [...collection.entries.values()].filter(({ value }) => present(value));
  }
  const { value, source } = collection;
  t.effects.met.touchContent(value, source);
  const state = t.collections.get(value);
  if (state?.all) return [...state.all.values()];
  const keys = [...(value as ReadonlyMap<unknown, unknown>).keys()];
  t.guard(`members ${sourceKey(source)}`, { kind: 'members', source, keys });
  const all = new Map(keys.map((key) => [key, outerEntry(t, collection, key)]));
  for (const [id, entry] of state?.written ?? []) {
    if (entry) all.set(id, entry);
    else all.delete(id);
  }
  if (state) {
    // A key that was deleted and set again has moved to the end.
    if ([...state.written.values()].includes(null)) {
      throw new GraphBreak('object-write', 'a Map or Set is listed after a deletion');
    }
    t.journal.note(() => {
      state.all = null;
    });
    state.all = all;
  }
  return [...all.values()];
}

function outerEntry(t: Tracer, { value, source }: ObjectVariable, key: unknown): CollectionEntry {
  const held = isPrimitive(key)
    ? known(key)
    : t.read({ kind: 'held', value: key as object, name: 'a key' }, key);
  if (collectionType(value) === 'Set') return { key: held, value: held };
  const content = (value as ReadonlyMap<unknown, unknown>).get(key);
  return { key: held, value: t.read({ kind: 'mapGet', base: source, key }, content) };
}

/** What a Map compares keys by: the primitive, the object from outside, or the variable of one made inside. */
export function keyIdentity(t: Tracer, given: Variable): unknown {
  const key = settled(given);
  switch (key.kind) {
    case 'constant':
    case 'symbolic':
      return constantOf(t, key);
    case 'object':
    case 'function': {
      const { source, value } = key;
      if (source) t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
      return value;
    }
    case 'tensor': {
      const { source, actual } = key;
      if (!source || !actual) return inside(key);
      t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value: actual });
      return actual;
    }
    case 'scalar':
      throw numberNeeded(key, 'is a key of a Map or Set');
    case 'text':
      throw textAsked(key, 'is a key of a Map or Set');
    default:
      return inside(key);
  }
}

function inside(key: Variable): Variable {
  expectIdentity(key);
  made.add(key);
  return key;
}

function stateOf(t: Tracer, { value, source }: ObjectVariable): OuterCollection {
  t.effects.met.touchContent(value, source);
  let state = t.collections.get(value);
  if (!state) {
    t.journal.keepMap(t.collections);
    state = { written: new Map(), all: null };
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

function change(
  t: Tracer,
  { value: collection, source }: ObjectVariable,
  operation: CollectionChange['operation'],
  key: Variable | null,
  value: Variable | null,
): void {
  t.effects.changeCollection(collection, { collection: source, operation, key, value });
}
