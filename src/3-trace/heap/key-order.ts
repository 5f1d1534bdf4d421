/** Key order of objects, Maps and Sets created in the trace, which may differ between paths. */

import { isIndex } from '../../vm/language/index-key.ts';
import { isObject } from '../../vm/language/primordials.ts';
import { joinOrders } from '../effects/join-orders.ts';
import type { Location } from '../state/location.ts';
import { idOf } from '../state/object-ids.ts';
import type { Tracer } from '../state/tracer.ts';
import { mayBeAbsent, present, resolved, specialized } from '../variables/unions.ts';
import {
  absent,
  known,
  type NewCollectionVariable,
  type NewObjectVariable,
  type Variable,
} from '../variables/variable.ts';

export type KeyedVariable = NewObjectVariable | NewCollectionVariable;

/** Returns the label that represents a key in an order, as JSON. Equal keys have equal labels. */
export function labelOf(key: unknown): string {
  if (typeof key === 'string') return JSON.stringify(key);
  return JSON.stringify([typeof key, isObject(key) ? idOf(key) : String(key)]);
}

/** Returns the key order as a variable: the labels of the keys that may be present. */
export function orderOf(keyed: KeyedVariable): Variable {
  if (keyed.order) return resolved(keyed.order);
  return orderFrom([...keyed.entries.keys()].filter((key) => isPlaced(keyed, key)).map(labelOf));
}

function orderFrom(labels: readonly string[]): Variable {
  return known(`[${labels.join(',')}]`);
}

function labelsOf(order: Variable): readonly string[] | undefined {
  if (order.kind !== 'constant') return undefined;
  const labels = JSON.parse(order.value as string) as readonly unknown[];
  return labels.map((label) => JSON.stringify(label));
}

/** Returns false for index keys of objects: these always come first. */
function isPlaced(keyed: KeyedVariable, key: unknown): boolean {
  if (keyed.kind === 'newObject' && isIndex(key as string)) return false;
  return resolved(valueAt(keyed, key)!) !== absent;
}

function valueAt(keyed: KeyedVariable, key: unknown): Variable | undefined {
  if (keyed.kind === 'newObject') return keyed.entries.get(key as string);
  return keyed.entries.get(key)?.value;
}

/** Must be called before the order is read. Throws UnionMet if it is data-dependent. */
export function settleOrder(t: Tracer, keyed: KeyedVariable): void {
  if (keyed.order) setOrder(t, keyed, specialized(keyed.order));
}

/** Prepares the insertion of a key: a key that may be absent must end up last. Throws UnionMet. */
export function makeRoom(t: Tracer, keyed: KeyedVariable, key: unknown): void {
  const value = valueAt(keyed, key);
  if (value && resolved(value) !== absent && !mayBeAbsent(value)) return;
  settleOrder(t, keyed);
  if (!value || isLast(keyed, key) || present(value)) return;
  t.journal.keepMap(keyed.entries as Map<unknown, unknown>);
  keyed.entries.delete(key as string);
}

function isLast(keyed: KeyedVariable, key: unknown): boolean {
  const placed = [...keyed.entries.keys()].filter((each) => each === key || isPlaced(keyed, each));
  return placed[placed.length - 1] === key;
}

function setOrder(t: Tracer, keyed: KeyedVariable, next: Variable): void {
  const labels = labelsOf(next);
  t.journal.set(keyed, 'order', labels ? undefined : next);
  if (!labels) return;
  const entries = keyed.entries as Map<unknown, unknown>;
  const rank = new Map(labels.map((label, i) => [label, i]));
  const rankOf = ([key]: readonly [unknown, unknown]) => rank.get(labelOf(key)) ?? labels.length;
  const sorted = [...entries].sort((a, b) => rankOf(a) - rankOf(b));
  t.journal.keepMap(entries);
  entries.clear();
  for (const [key, value] of sorted) entries.set(key, value);
}

export function orderLocation(keyed: KeyedVariable): Location {
  return {
    key: `${idOf(keyed)} order`,
    name: 'the order of keys',
    register: null,
    set: (t, next) => setOrder(t, keyed, next),
    agreed: (orders) => {
      const all = orders.map(labelsOf);
      const one = all.every((each) => each !== undefined) ? joinOrders(all) : undefined;
      return one && orderFrom(one);
    },
  };
}
