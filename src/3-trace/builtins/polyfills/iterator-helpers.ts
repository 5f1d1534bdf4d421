/** Methods of built-in iterators and generators whose results are iterators: generators here, which calls advance. */

type Callback<T> = (item: unknown, index: number) => T;

export function* map(this: Iterable<unknown>, callback: Callback<unknown>): Generator<unknown> {
  let i = 0;
  for (const item of this) yield callback(item, i++);
}

export function* filter(this: Iterable<unknown>, callback: Callback<unknown>): Generator<unknown> {
  let i = 0;
  for (const item of this) if (callback(item, i++)) yield item;
}

/** The iterator is closed by the step after the last item. */
export function* take(this: Iterable<unknown>, count: number): Generator<unknown> {
  let left = Math.trunc(count);
  for (const item of this) {
    yield item;
    if (--left === 0) break;
  }
}

export function* drop(this: Iterable<unknown>, count: number): Generator<unknown> {
  let left = Math.trunc(count);
  for (const item of this) {
    if (left > 0) left--;
    else yield item;
  }
}

export function* flatMap(
  this: Iterable<unknown>,
  callback: Callback<Iterable<unknown>>,
): Generator<unknown> {
  let i = 0;
  for (const item of this) {
    const inner = callback(item, i++);
    if ((typeof inner !== 'object' && typeof inner !== 'function') || inner === null) {
      throw new TypeError('Iterator.prototype.flatMap called on non-object');
    }
    const method: unknown = inner[Symbol.iterator];
    const isIterable = method !== undefined && method !== null;
    const items = isIterable ? inner : { [Symbol.iterator]: () => inner as never };
    for (const each of items) yield each;
  }
}
