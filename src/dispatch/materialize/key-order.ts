/** Entries of objects, Maps and Sets, in the order chosen by the run. */

import type { EntryRecipe, KeyOrder } from '../../traces/trace-result.ts';
import { absentValue, compileRecipe, type RunValues } from './materialize.ts';

/** Returns `entries` in the run's order. */
export function inKeyOrder<E>(
  entries: readonly E[],
  order: KeyOrder | null,
): (values: RunValues) => readonly E[] {
  if (!order) return () => entries;
  const read = compileRecipe(order.which);
  const sorted = new Map<string, readonly E[]>();
  return (values) => {
    const text = read(values) as string;
    const known = sorted.get(text);
    if (known) return known;
    const rank = rankIn(text);
    const places = entries.map((entry, i) => ({ entry, rank: rank(order.labels[i]!) }));
    const now = places.sort((a, b) => a.rank - b.rank).map(({ entry }) => entry);
    sorted.set(text, now);
    return now;
  };
}

/** Ranks labels by an order. A label that isn't in the order is absent, so its rank doesn't matter. */
function rankIn(text: string): (label: string) => number {
  const labels = JSON.parse(text) as readonly unknown[];
  const ranks = new Map(labels.map((label, i) => [JSON.stringify(label), i]));
  return (label) => ranks.get(label) ?? labels.length;
}

/** Returns the entries that are present. */
export function compileEntries(
  recipes: readonly EntryRecipe[],
  order: KeyOrder | null,
): (values: RunValues) => (readonly [key: unknown, value: unknown])[] {
  const readers = recipes.map(
    ([key, value]) => [compileRecipe(key), compileRecipe(value)] as const,
  );
  const entriesOf = inKeyOrder(readers, order);
  return (values) =>
    entriesOf(values).flatMap(([keyOf, contentOf]) => {
      const content = contentOf(values);
      return content === absentValue ? [] : [[keyOf(values), content] as const];
    });
}
