/** Changes to pre-existing Maps and Sets after the run. */

import { compileReader } from '../../guards/source.ts';
import type { Effect } from '../../traces/trace-result.ts';
import type { OwnedTensors } from '../ownership/owned-tensors.ts';
import { compileEntries } from './key-order.ts';
import { compileRecipe, type RunValues } from './materialize.ts';

/** One change with its operands read, ready to be made. */
export type Change = () => void;

export function compileCollectionChange(
  effect: Effect & { kind: 'changeCollection' },
): (values: RunValues, owned: OwnedTensors) => Change {
  const collectionOf = compileReader(effect.collection);
  const keyOf = effect.key && compileRecipe(effect.key);
  const contentOf = effect.value && compileRecipe(effect.value);
  const { operation } = effect;
  return (values, owned) => {
    const collection = collectionOf(values.frames) as Map<unknown, unknown> & Set<unknown>;
    const [key, value] = [keyOf?.(values), contentOf?.(values)];
    owned.store(collection, key);
    owned.store(collection, value);
    return () => {
      if (operation === 'set') collection.set(key, value);
      else collection[operation](key);
    };
  };
}

export function compileCollectionFill(
  effect: Effect & { kind: 'fillCollection' },
): (values: RunValues, owned: OwnedTensors) => Change {
  const collectionOf = compileReader(effect.collection);
  const readEntries = compileEntries(effect.entries, effect.order);
  return (values, owned) => {
    const collection = collectionOf(values.frames) as Map<unknown, unknown> | Set<unknown>;
    const entries = readEntries(values);
    for (const [key, value] of entries) {
      owned.store(collection, key);
      owned.store(collection, value);
    }
    return () => fill(collection, entries);
  };
}

/** Takes out what is gone and what has moved to the end; what stays is not moved. */
function fill(
  collection: Map<unknown, unknown> | Set<unknown>,
  entries: readonly (readonly [key: unknown, value: unknown])[],
): void {
  const wanted = new Set(entries.map(([key]) => key));
  for (const key of collection.keys()) if (!wanted.has(key)) collection.delete(key);
  let place = 0;
  let moved = false;
  for (const key of [...collection.keys()]) {
    moved ||= key !== entries[place++]![0];
    if (moved) collection.delete(key);
  }
  for (const [key, value] of entries) {
    if (collection instanceof Map) collection.set(key, value);
    else collection.add(key);
  }
}
