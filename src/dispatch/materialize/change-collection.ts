/** Changes pre-existing Maps and Sets after the run. */

import { callNative, collectionType } from '../../guards/collection-slots.ts';
import { compileReader } from '../../guards/source.ts';
import type { Effect } from '../../traces/trace-result.ts';
import type { OwnedTensors } from '../ownership/owned-tensors.ts';
import { compileEntries } from './key-order.ts';
import { compileRecipe, type RunValues } from './materialize.ts';

/** One change whose operands are read, ready to apply. */
export type Change = () => void;

export function compileCollectionChange(
  effect: Effect & { kind: 'changeCollection' },
): (values: RunValues, owned: OwnedTensors) => Change {
  const collectionOf = compileReader(effect.collection);
  const keyOf = effect.key && compileRecipe(effect.key);
  const contentOf = effect.value && compileRecipe(effect.value);
  const { operation } = effect;
  return (values, owned) => {
    const collection = collectionOf(values.frames) as object;
    const [key, value] = [keyOf?.(values), contentOf?.(values)];
    owned.store(collection, key);
    owned.store(collection, value);
    return () => {
      callNative(collection, operation, key, value);
    };
  };
}

export function compileCollectionFill(
  effect: Effect & { kind: 'fillCollection' },
): (values: RunValues, owned: OwnedTensors) => Change {
  const collectionOf = compileReader(effect.collection);
  const readEntries = compileEntries(effect.entries, effect.order);
  return (values, owned) => {
    const collection = collectionOf(values.frames) as object;
    const entries = readEntries(values);
    for (const [key, value] of entries) {
      owned.store(collection, key);
      owned.store(collection, value);
    }
    return () => fill(collection, entries);
  };
}

/** Removes deleted entries and entries that moved to the end; doesn't move the others. */
function fill(
  collection: object,
  entries: readonly (readonly [key: unknown, value: unknown])[],
): void {
  const keys = () => [...(callNative(collection, 'keys') as Iterable<unknown>)];
  const remaining = new Set(entries.map(([key]) => key));
  for (const key of keys()) if (!remaining.has(key)) callNative(collection, 'delete', key);
  let index = 0;
  let moved = false;
  for (const key of keys()) {
    moved ||= key !== entries[index++]![0];
    if (moved) callNative(collection, 'delete', key);
  }
  const operation = collectionType(collection) === 'Map' ? 'set' : 'add';
  for (const [key, value] of entries) callNative(collection, operation, key, value);
}
