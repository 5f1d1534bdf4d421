/** Methods of built-in iterators and generators that iterate to the end. */

type Callback = (item: unknown, index: number) => unknown;

export function toArray(this: Iterable<unknown>): unknown[] {
  return [...this];
}

export function forEach(this: Iterable<unknown>, callback: Callback): void {
  let i = 0;
  for (const item of this) callback(item, i++);
}

export function some(this: Iterable<unknown>, callback: Callback): boolean {
  let i = 0;
  for (const item of this) if (callback(item, i++)) return true;
  return false;
}

export function every(this: Iterable<unknown>, callback: Callback): boolean {
  let i = 0;
  for (const item of this) if (!callback(item, i++)) return false;
  return true;
}

export function find(this: Iterable<unknown>, callback: Callback): unknown {
  let i = 0;
  for (const item of this) if (callback(item, i++)) return item;
  return undefined;
}

export function reduce(
  this: Iterable<unknown>,
  callback: (total: unknown, item: unknown, index: number) => unknown,
  ...start: unknown[]
): unknown {
  let isFirst = start.length === 0;
  let total = start[0];
  let i = 0;
  for (const item of this) {
    total = isFirst ? item : callback(total, item, i);
    isFirst = false;
    i++;
  }
  if (isFirst) throw new TypeError('Reduce of a done iterator with no initial value');
  return total;
}
