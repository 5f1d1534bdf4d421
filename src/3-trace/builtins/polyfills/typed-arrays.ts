/** Methods of typed arrays that call back and make another one. */

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
