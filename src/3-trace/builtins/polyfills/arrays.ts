/**
 * Array methods that take callbacks, written after the specification for plain arrays and real functions. They use
 * nothing but their arguments, so that their printed source is self-contained.
 */

type Callback = (this: unknown, item: unknown, index: number, array: unknown[]) => unknown;

export function map(this: unknown[], callback: Callback, self?: unknown): unknown[] {
  const length = this.length;
  const result: unknown[] = [];
  for (let i = 0; i < length; i++) {
    if (i in this) result.push(callback.call(self, this[i], i, this));
    else result.length = i + 1;
  }
  return result;
}

export function filter(this: unknown[], callback: Callback, self?: unknown): unknown[] {
  const length = this.length;
  const result: unknown[] = [];
  for (let i = 0; i < length; i++) {
    if (!(i in this)) continue;
    const item = this[i];
    if (callback.call(self, item, i, this)) result.push(item);
  }
  return result;
}

export function forEach(this: unknown[], callback: Callback, self?: unknown): void {
  const length = this.length;
  for (let i = 0; i < length; i++) if (i in this) callback.call(self, this[i], i, this);
}

export function some(this: unknown[], callback: Callback, self?: unknown): boolean {
  const length = this.length;
  for (let i = 0; i < length; i++) {
    if (i in this && callback.call(self, this[i], i, this)) return true;
  }
  return false;
}

export function every(this: unknown[], callback: Callback, self?: unknown): boolean {
  const length = this.length;
  for (let i = 0; i < length; i++) {
    if (i in this && !callback.call(self, this[i], i, this)) return false;
  }
  return true;
}

export function find(this: unknown[], callback: Callback, self?: unknown): unknown {
  const length = this.length;
  for (let i = 0; i < length; i++) {
    const item = this[i];
    if (callback.call(self, item, i, this)) return item;
  }
  return undefined;
}

export function findIndex(this: unknown[], callback: Callback, self?: unknown): number {
  const length = this.length;
  for (let i = 0; i < length; i++) if (callback.call(self, this[i], i, this)) return i;
  return -1;
}

export function findLast(this: unknown[], callback: Callback, self?: unknown): unknown {
  for (let i = this.length - 1; i >= 0; i--) {
    const item = this[i];
    if (callback.call(self, item, i, this)) return item;
  }
  return undefined;
}

export function findLastIndex(this: unknown[], callback: Callback, self?: unknown): number {
  for (let i = this.length - 1; i >= 0; i--) if (callback.call(self, this[i], i, this)) return i;
  return -1;
}

export function flatMap(this: unknown[], callback: Callback, self?: unknown): unknown[] {
  const length = this.length;
  const result: unknown[] = [];
  for (let i = 0; i < length; i++) {
    if (!(i in this)) continue;
    const items = callback.call(self, this[i], i, this);
    if (!Array.isArray(items)) result.push(items);
    else for (let j = 0; j < items.length; j++) if (j in items) result.push(items[j]);
  }
  return result;
}

type Reducer = (so: unknown, item: unknown, index: number, array: unknown[]) => unknown;

export function reduce(this: unknown[], callback: Reducer, ...start: unknown[]): unknown {
  const length = this.length;
  let i = 0;
  let result = start[0];
  if (start.length === 0) {
    // An array-like may have no length.
    const isEmpty = !(length > 0);
    while (isEmpty || !(i in this)) {
      if (!(++i < length)) throw new TypeError('Reduce of empty array with no initial value');
    }
    result = this[i++];
  }
  for (; i < length; i++) if (i in this) result = callback(result, this[i], i, this);
  return result;
}

export function reduceRight(this: unknown[], callback: Reducer, ...start: unknown[]): unknown {
  let i = this.length - 1;
  let result = start[0];
  if (start.length === 0) {
    while (!(i >= 0 && i in this)) {
      if (!(--i >= 0)) throw new TypeError('Reduce of empty array with no initial value');
    }
    result = this[i--];
  }
  for (; i >= 0; i--) if (i in this) result = callback(result, this[i], i, this);
  return result;
}

export function toSorted(this: unknown[], compare: (a: unknown, b: unknown) => number): unknown[] {
  return [...this].sort(compare);
}

/** `Array.from(items, callback)` */
export function from(
  items: unknown,
  callback: (this: unknown, item: unknown, index: number) => unknown,
  self?: unknown,
): unknown[] {
  const result: unknown[] = [];
  const method = (items as Iterable<unknown>)[Symbol.iterator];
  let i = 0;
  if (method !== undefined && method !== null) {
    for (const item of items as Iterable<unknown>) {
      result.push(callback.call(self, item, i));
      i++;
    }
    return result;
  }
  const { length } = items as ArrayLike<unknown>;
  for (; i < length; i++) result.push(callback.call(self, (items as ArrayLike<unknown>)[i], i));
  return result;
}
