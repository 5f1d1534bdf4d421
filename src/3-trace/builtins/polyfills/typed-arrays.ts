/** Typed array methods that take callbacks or create another typed array. */

interface TypedArray extends ArrayLike<number> {
  constructor: new (
    content: number | readonly number[],
  ) => TypedArray & { [index: number]: number };
}

type Callback = (this: unknown, item: number, index: number, array: TypedArray) => number;

export function map(this: TypedArray, callback: Callback, self?: unknown): TypedArray {
  const { length } = this;
  const result = new this.constructor(length);
  for (let i = 0; i < length; i++) result[i] = callback.call(self, this[i]!, i, this);
  return result;
}

export function filter(this: TypedArray, callback: Callback, self?: unknown): TypedArray {
  const { length } = this;
  const kept: number[] = [];
  for (let i = 0; i < length; i++) {
    const item = this[i]!;
    if (callback.call(self, item, i, this)) kept.push(item);
  }
  return new this.constructor(kept);
}

/** `Float32Array.from(items, callback)` */
export function from(
  this: TypedArray['constructor'],
  items: Iterable<number> | ArrayLike<number>,
  callback?: (this: unknown, item: number, index: number) => number,
  self?: unknown,
): TypedArray {
  const numbers = Array.from(items);
  if (callback === undefined) return new this(numbers);
  const { length } = numbers;
  const result = new this(length);
  for (let i = 0; i < length; i++) result[i] = callback.call(self, numbers[i]!, i);
  return result;
}

type Writable = TypedArray & { [index: number]: number; slice(): number[] };

/** `array.fill(value, start, end)` */
export function fill(this: Writable, value: number, start?: number, end?: number): Writable {
  const { length } = this;
  const number = +value;
  const first = Math.trunc(start === undefined ? 0 : +start) || 0;
  const last = Math.trunc(end === undefined ? length : +end) || 0;
  const to = last < 0 ? length + last : Math.min(last, length);
  for (let i = first < 0 ? Math.max(length + first, 0) : first; i < to; i++) this[i] = number;
  return this;
}

/** `array.set(items, offset)`: if the items share the array's memory, all are read before any is written. */
export function set(this: Writable, items: ArrayLike<number>, offset?: number): void {
  const start = Math.trunc(offset === undefined ? 0 : +offset) || 0;
  const { length } = items;
  if (start < 0 || start + length > this.length) throw new RangeError('offset is out of bounds');
  const numbers: number[] = [];
  for (let i = 0; i < length; i++) numbers.push(+items[i]!);
  for (let i = 0; i < length; i++) this[start + i] = numbers[i]!;
}

/** `array.copyWithin(target, start, end)` */
export function copyWithin(this: Writable, target: number, start?: number, end?: number): Writable {
  const { length } = this;
  const into = Math.trunc(+target) || 0;
  const first = Math.trunc(start === undefined ? 0 : +start) || 0;
  const last = Math.trunc(end === undefined ? length : +end) || 0;
  const to = into < 0 ? Math.max(length + into, 0) : into;
  const until = last < 0 ? length + last : Math.min(last, length);
  const numbers: number[] = [];
  for (let i = first < 0 ? Math.max(length + first, 0) : first; i < until; i++) {
    numbers.push(this[i]!);
  }
  for (let i = 0; i < numbers.length && to + i < length; i++) this[to + i] = numbers[i]!;
  return this;
}

/** `array.reverse()` */
export function reverse(this: Writable): Writable {
  const last = this.length - 1;
  for (let i = 0; i < last - i; i++) {
    const number = this[i]!;
    this[i] = this[last - i]!;
    this[last - i] = number;
  }
  return this;
}

/** `array.sort()` without a comparator */
export function sort(this: Writable): Writable {
  const sorted = this.slice().sort();
  for (let i = 0; i < sorted.length; i++) this[i] = sorted[i]!;
  return this;
}
