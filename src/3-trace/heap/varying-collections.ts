/**
 * Maps and Sets whose number of entries differs between calls. Their values are treated as an array of any length,
 * which each run reads from the collection.
 */

import { callNative, contentsOf } from '../../guards/collection-slots.ts';
import { ask } from '../../guards/query.ts';
import type { Source } from '../../guards/source.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import type { IteratorVariable } from '../variables/iterator-variables.ts';
import type { CollectionEntry, ObjectVariable, Variable } from '../variables/variable.ts';
import {
  asCollection,
  asPlainCollection,
  type CollectionVariable,
  entriesAdded,
} from './collections.ts';

export interface VaryingCollection {
  readonly collection: ObjectVariable;
  /** The values of a Map, or the elements of a Set, before the trace, as an array. */
  readonly values: ObjectVariable;
  /** The entries that the trace added after them. */
  readonly added: readonly CollectionEntry[];
}

/** Returns undefined if the number of entries has been constant so far, or if the trace changed some entries. */
export function varyingCollection(
  t: Tracer,
  collection: CollectionVariable,
): VaryingCollection | undefined {
  if (t.isInRegion || t.rows || collection.kind !== 'object') return undefined;
  const { value, source: base } = collection;
  const source: Source = { kind: 'contents', base };
  const values = t.read(source, contentsOf(value)) as ObjectVariable;
  const length = { kind: 'property', base: source, key: 'length' } as const;
  const isVarying = t.read(length, callNative(value, 'size')).kind === 'symbolic';
  const added = isVarying ? entriesAdded(t, collection) : undefined;
  return added && { collection, values, added };
}

/** Returns the collection of an iterator that is at its start and returns values. */
export function varyingValues(t: Tracer, variable: Variable): VaryingCollection | undefined {
  if (variable.kind === 'iterator') {
    const { over, next, done, what } = variable;
    const type = what === 'values' ? ['Map', 'Set'] : [];
    if (next > 0 || done || over.kind !== 'object') return undefined;
    const collection = asCollection(t, over, ...type);
    return collection && varyingCollection(t, collection);
  }
  const set = variable.kind === 'object' ? asPlainCollection(t, variable, 'Set') : undefined;
  return set && varyingCollection(t, set);
}

/** Marks an iterator as having returned all values. */
export function exhaust(t: Tracer, iterator: IteratorVariable): void {
  t.journal.set(iterator, 'done', true);
}

/** Returns whether the keys of a Map are the numbers from 0 on, in order, and guards it. */
export function countsUp(t: Tracer, { value, source: base }: ObjectVariable): boolean {
  const counted: Source = { kind: 'query', base, query: 'countsUp', key: undefined };
  return constantOf(t, t.read(counted, ask('countsUp', value))) === true;
}
