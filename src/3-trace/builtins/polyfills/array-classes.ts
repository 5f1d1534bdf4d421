/**
 * Array methods that create instances of user array classes: the constructor is looked up and called as the
 * specification requires. Each function must be self-contained in its printed source.
 */

type Callback = (this: unknown, item: unknown, index: number, array: unknown[]) => unknown;
type Constructor = new (length?: number) => unknown[];
interface SpeciesArray extends Array<unknown> {
  readonly constructor: { readonly [Symbol.species]?: Constructor | null } & Constructor;
}

export function map(this: SpeciesArray, callback: Callback, self?: unknown): unknown[] {
  const { length } = this;
  const type = this.constructor?.[Symbol.species];
  const result = type ? new type(length) : new Array<unknown>(length);
  for (let i = 0; i < length; i++) {
    if (i in this) result[i] = callback.call(self, this[i], i, this);
  }
  return result;
}

export function filter(this: SpeciesArray, callback: Callback, self?: unknown): unknown[] {
  const { length } = this;
  const type = this.constructor?.[Symbol.species];
  const result = type ? new type(0) : [];
  let count = 0;
  for (let i = 0; i < length; i++) {
    if (!(i in this)) continue;
    const item = this[i];
    if (callback.call(self, item, i, this)) result[count++] = item;
  }
  return result;
}

export function slice(this: SpeciesArray, start?: number, end?: number): unknown[] {
  const { length } = this;
  const first = Math.trunc(Number(start)) || 0;
  const last = end === undefined ? length : Math.trunc(Number(end)) || 0;
  const from = first < 0 ? Math.max(length + first, 0) : Math.min(first, length);
  const to = last < 0 ? Math.max(length + last, 0) : Math.min(last, length);
  const type = this.constructor?.[Symbol.species];
  const result = type ? new type(Math.max(to - from, 0)) : [];
  let count = 0;
  for (let i = from; i < to; i++, count++) if (i in this) result[count] = this[i];
  result.length = count;
  return result;
}

export function splice(this: SpeciesArray, ...args: unknown[]): unknown[] {
  const { length } = this;
  const first = Math.trunc(Number(args[0])) || 0;
  const from = first < 0 ? Math.max(length + first, 0) : Math.min(first, length);
  const given = args.length === 1 ? length : Math.trunc(Number(args[1])) || 0;
  const removed = args.length === 0 ? 0 : Math.min(Math.max(given, 0), length - from);
  const type = this.constructor?.[Symbol.species];
  const result = type ? new type(removed) : [];
  for (let i = 0; i < removed; i++) if (from + i in this) result[i] = this[from + i];
  result.length = removed;
  const rest = [];
  for (let i = from + removed; i < length; i++) {
    if (i in this) rest[i - from - removed] = this[i];
    else rest.length = i - from - removed + 1;
  }
  this.length = from;
  for (let i = 2; i < args.length; i++) this[from + i - 2] = args[i];
  const next = from + Math.max(args.length - 2, 0);
  for (let i = 0; i < rest.length; i++) if (i in rest) this[next + i] = rest[i];
  this.length = next + rest.length;
  return result;
}

export function concat(this: SpeciesArray, ...others: unknown[]): unknown[] {
  const type = this.constructor?.[Symbol.species];
  const result = type ? new type(0) : [];
  let count = 0;
  for (let k = -1; k < others.length; k++) {
    const part = k < 0 ? this : others[k];
    const isObject = typeof part === 'object' && part !== null;
    const told = isObject ? (part as SpeciesArray)[Symbol.isConcatSpreadable as never] : false;
    const isSpread = told === undefined ? Array.isArray(part) : Boolean(told);
    if (!isSpread) {
      result[count++] = part;
      continue;
    }
    const list = part as unknown[];
    const { length } = list;
    for (let i = 0; i < length; i++, count++) if (i in list) result[count] = list[i];
  }
  result.length = count;
  return result;
}

export function flat(this: SpeciesArray, depth?: number): unknown[] {
  const most = depth === undefined ? 1 : Math.trunc(Number(depth)) || 0;
  const type = this.constructor?.[Symbol.species];
  const result = type ? new type(0) : [];
  let count = 0;
  const put = (list: unknown[], left: number): void => {
    for (let i = 0; i < list.length; i++) {
      if (!(i in list)) continue;
      const item = list[i];
      if (left > 0 && Array.isArray(item)) put(item, left - 1);
      else result[count++] = item;
    }
  };
  put(this, most);
  return result;
}

export function flatMap(this: SpeciesArray, callback: Callback, self?: unknown): unknown[] {
  const { length } = this;
  const type = this.constructor?.[Symbol.species];
  const result = type ? new type(0) : [];
  let count = 0;
  for (let i = 0; i < length; i++) {
    if (!(i in this)) continue;
    const items = callback.call(self, this[i], i, this);
    if (!Array.isArray(items)) result[count++] = items;
    else for (let j = 0; j < items.length; j++) if (j in items) result[count++] = items[j];
  }
  return result;
}

/** `List.of(…)` */
export function of(this: Constructor, ...items: unknown[]): unknown[] {
  const result = new this(items.length);
  for (let i = 0; i < items.length; i++) result[i] = items[i];
  result.length = items.length;
  return result;
}

/** `List.from(items, callback)` */
export function from(
  this: Constructor,
  items: unknown,
  callback?: (this: unknown, item: unknown, index: number) => unknown,
  self?: unknown,
): unknown[] {
  const method = (items as Iterable<unknown>)[Symbol.iterator];
  let i = 0;
  if (method !== undefined && method !== null) {
    const result = new this();
    for (const item of items as Iterable<unknown>) {
      result[i] = callback ? callback.call(self, item, i) : item;
      i++;
    }
    result.length = i;
    return result;
  }
  const { length } = items as ArrayLike<unknown>;
  const result = new this(length);
  for (; i < length; i++) {
    const item = (items as ArrayLike<unknown>)[i];
    result[i] = callback ? callback.call(self, item, i) : item;
  }
  result.length = length;
  return result;
}
