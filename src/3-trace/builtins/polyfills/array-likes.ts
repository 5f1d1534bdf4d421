/**
 * Array methods for array-likes: instances of user array classes, typed arrays, `arguments`. They create no array
 * of the receiver's type.
 */

export function indexOf(this: ArrayLike<unknown>, item: unknown, ...start: number[]): number {
  const { length } = this;
  const from = start.length === 0 ? 0 : Math.trunc(Number(start[0])) || 0;
  for (let i = from < 0 ? Math.max(length + from, 0) : from; i < length; i++) {
    if (i in this && this[i] === item) return i;
  }
  return -1;
}

export function lastIndexOf(this: ArrayLike<unknown>, item: unknown, ...start: number[]): number {
  const { length } = this;
  const from = start.length === 0 ? length - 1 : Math.trunc(Number(start[0])) || 0;
  for (let i = from < 0 ? length + from : Math.min(from, length - 1); i >= 0; i--) {
    if (i in this && this[i] === item) return i;
  }
  return -1;
}

export function includes(this: ArrayLike<unknown>, item: unknown, ...start: number[]): boolean {
  const { length } = this;
  const from = start.length === 0 ? 0 : Math.trunc(Number(start[0])) || 0;
  for (let i = from < 0 ? Math.max(length + from, 0) : from; i < length; i++) {
    const each = this[i];
    if (each === item || (Number.isNaN(each) && Number.isNaN(item))) return true;
  }
  return false;
}

export function at(this: ArrayLike<unknown>, index: number): unknown {
  const { length } = this;
  const relativeIndex = Math.trunc(Number(index)) || 0;
  const i = relativeIndex < 0 ? length + relativeIndex : relativeIndex;
  return i < 0 || i >= length ? undefined : this[i];
}

export function join(this: ArrayLike<unknown>, separator?: string): string {
  const { length } = this;
  const between = separator === undefined ? ',' : String(separator);
  let text = '';
  for (let i = 0; i < length; i++) {
    const item = this[i];
    if (i > 0) text += between;
    if (item !== undefined && item !== null) text += String(item);
  }
  return text;
}

/** `slice` of an object that isn't an array; the result is a built-in array. */
export function slice(this: ArrayLike<unknown>, start?: number, end?: number): unknown[] {
  const { length } = this;
  const from = start === undefined ? 0 : Math.trunc(Number(start)) || 0;
  const to = end === undefined ? length : Math.trunc(Number(end)) || 0;
  const first = from < 0 ? Math.max(length + from, 0) : from;
  const stop = to < 0 ? length + to : Math.min(to, length);
  const result: unknown[] = [];
  for (let i = first; i < stop; i++) {
    if (i in this) result[i - first] = this[i];
    else result.length = i - first + 1;
  }
  return result;
}

export function localeText(this: ArrayLike<unknown>, ...how: []): string {
  const { length } = this;
  let text = '';
  for (let i = 0; i < length; i++) {
    const item = this[i];
    if (i > 0) text += ',';
    if (item !== undefined && item !== null) text += item.toLocaleString(...how);
  }
  return text;
}
