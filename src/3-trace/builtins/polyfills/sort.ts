/** How many elements `insertionSort` has to have before this engine's own sort looks for a run at the start. */
export function fewestWithRun(): 2 | 8 {
  // As in V8 since version 14; earlier versions compare two neighbours more, and see that all is one run.
  let comparisons = 0;
  [3, 2, 1].sort((a, b) => {
    comparisons++;
    return a - b;
  });
  return comparisons === 3 ? 8 : 2;
}

/**
 * `array.sort(compare)` for up to 63 elements. For such a list, Timsort (Peters, 2002) finds one ascending or
 * strictly descending run at the start and inserts the rest by binary search; with fewer than `fewest` elements, it
 * inserts them all. Comparisons are made in V8's order, since a comparator may have visible effects.
 */
export function insertionSort(
  this: unknown[],
  compare: (a: unknown, b: unknown) => number,
  fewest: number,
): unknown[] {
  const items: unknown[] = [];
  let missing = 0;
  const length = this.length;
  for (let i = 0; i < length; i++) {
    if (this[i] === undefined) missing++;
    else items.push(this[i]);
  }
  const count = items.length;
  if (count > 1) {
    let run = 1;
    let down = false;
    if (count >= fewest) {
      run = 2;
      down = compare(items[1], items[0]) < 0;
      while (run < count) {
        const order = compare(items[run], items[run - 1]);
        if (down ? order >= 0 : order < 0) break;
        run++;
      }
    }
    if (down) {
      for (let low = 0, high = run - 1; low < high; low++, high--) {
        const item = items[low];
        items[low] = items[high];
        items[high] = item;
      }
    }
    for (let next = run; next < count; next++) {
      const item = items[next];
      let low = 0;
      let high = next;
      while (low < high) {
        const middle = low + ((high - low) >> 1);
        if (compare(item, items[middle]) < 0) high = middle;
        else low = middle + 1;
      }
      for (let i = next; i > low; i--) items[i] = items[i - 1];
      items[low] = item;
    }
  }
  for (let i = 0; i < missing; i++) items.push(undefined);
  for (let i = 0; i < items.length; i++) this[i] = items[i];
  return this;
}

/**
 * Sorts when device scalars decide comparisons. `orderOf` compares each pair once and returns the item indices in
 * sorted order, as device scalars. No decision depends on another, so the cost is quadratic in the length; with
 * the insertion sort above, the number of paths would multiply.
 */
export function sortByRank(
  this: unknown[],
  compare: (a: unknown, b: unknown) => number,
  orderOf: (items: readonly unknown[], compare: unknown) => readonly number[],
): unknown[] {
  const items: unknown[] = [];
  let missing = 0;
  const length = this.length;
  for (let i = 0; i < length; i++) {
    if (this[i] === undefined) missing++;
    else items.push(this[i]);
  }
  const order = orderOf(items, compare);
  const sorted: unknown[] = [];
  for (let i = 0; i < items.length; i++) sorted.push(items[order[i]!]);
  for (let i = 0; i < missing; i++) sorted.push(undefined);
  for (let i = 0; i < sorted.length; i++) this[i] = sorted[i];
  return this;
}
