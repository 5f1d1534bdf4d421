/**
 * Methods of arrays of data-dependent length, written with the operations that such arrays support: indexed reads
 * and writes, `push`, `pop` and spreading. The arrays have no holes; if a callback removes an element that is
 * still needed, the call runs natively. The functions use nothing but their arguments.
 */

type Callback = (this: unknown, item: unknown, index: number, array: unknown[]) => unknown;

export function map(this: unknown[], callback: Callback, self?: unknown): unknown[] {
  const { length } = this;
  const result: unknown[] = [];
  for (let i = 0; i < length; i++) {
    if (!(i in this)) throw new RangeError('an element is gone');
    result.push(callback.call(self, this[i], i, this));
  }
  return result;
}

export function slice(this: unknown[], start?: number, end?: number): unknown[] {
  const { length } = this;
  const from = start === undefined ? 0 : Math.trunc(start);
  const to = end === undefined ? length : Math.trunc(end);
  const first = from < 0 ? Math.max(length + from, 0) : from;
  const stop = to < 0 ? length + to : Math.min(to, length);
  const result: unknown[] = [];
  for (let i = first; i < stop; i++) {
    if (!(i in this)) throw new RangeError('an element is gone');
    result.push(this[i]);
  }
  return result;
}

export function reverse(this: unknown[]): unknown[] {
  for (let low = 0, high = this.length - 1; low < high; low++, high--) {
    if (!(low in this && high in this)) throw new RangeError('an element is gone');
    const item = this[low];
    this[low] = this[high];
    this[high] = item;
  }
  return this;
}

export function toReversed(this: unknown[]): unknown[] {
  const result: unknown[] = [];
  for (let i = this.length - 1; i >= 0; i--) {
    if (!(i in this)) throw new RangeError('an element is gone');
    result.push(this[i]);
  }
  return result;
}

export function shift(this: unknown[]): unknown {
  const before = [...this];
  if (before.length === 0) return undefined;
  const first = before[0];
  this.length = 0;
  for (let i = 1; i < before.length; i++) {
    if (!(i in before)) throw new RangeError('an element is gone');
    this.push(before[i]);
  }
  return first;
}

export function unshift(this: unknown[], ...items: unknown[]): number {
  const before = [...this];
  this.length = 0;
  for (const item of items) this.push(item);
  for (const item of before) this.push(item);
  return this.length;
}

export function splice(
  this: unknown[],
  start: number,
  count?: number,
  ...items: unknown[]
): unknown[] {
  const before = [...this];
  const { length } = before;
  const from = Math.trunc(start);
  const first = from < 0 ? Math.max(length + from, 0) : Math.min(from, length);
  const rest = length - first;
  const stop =
    first + (count === undefined ? rest : Math.min(Math.max(Math.trunc(count), 0), rest));
  const removed: unknown[] = [];
  this.length = 0;
  let i = 0;
  for (const item of before) {
    if (i === first) for (const each of items) this.push(each);
    if (i >= first && i < stop) removed.push(item);
    else this.push(item);
    i++;
  }
  if (first === length) for (const each of items) this.push(each);
  return removed;
}

export function fill(this: unknown[], value: unknown, start?: number, end?: number): unknown[] {
  const { length } = this;
  const from = start === undefined ? 0 : Math.trunc(start);
  const to = end === undefined ? length : Math.trunc(end);
  const first = from < 0 ? Math.max(length + from, 0) : from;
  const stop = to < 0 ? length + to : Math.min(to, length);
  for (let i = first; i < stop; i++) {
    if (!(i in this)) throw new RangeError('an element is gone');
    this[i] = value;
  }
  return this;
}

export function indexOf(this: unknown[], item: unknown, start?: number): number {
  const { length } = this;
  const from = start === undefined ? 0 : Math.trunc(start);
  for (let i = from < 0 ? Math.max(length + from, 0) : from; i < length; i++) {
    if (i in this && this[i] === item) return i;
  }
  return -1;
}

export function includes(this: unknown[], item: unknown, start?: number): boolean {
  const { length } = this;
  const from = start === undefined ? 0 : Math.trunc(start);
  for (let i = from < 0 ? Math.max(length + from, 0) : from; i < length; i++) {
    const each = this[i];
    if (each === item || (Number.isNaN(each) && Number.isNaN(item))) return true;
  }
  return false;
}

/** Insertion sort: the result doesn't depend on how often the comparator is called. */
export function sort(this: unknown[], compare: (a: unknown, b: unknown) => number): unknown[] {
  const { length } = this;
  for (let next = 1; next < length; next++) {
    if (!(next in this)) throw new RangeError('an element is gone');
    const item = this[next];
    let i = next - 1;
    for (; i >= 0; i--) {
      if (!(i in this)) throw new RangeError('an element is gone');
      const before = this[i];
      if (!(compare(before, item) > 0)) break;
      this[i + 1] = before;
    }
    this[i + 1] = item;
  }
  return this;
}

export function toSorted(this: unknown[], compare: (a: unknown, b: unknown) => number): unknown[] {
  return [...this].sort(compare);
}
