/** An iteration under way: what an iterator register holds. */
export abstract class IteratorRecord {
  /** Exhausted, closed or failed: the iterator isn't asked or closed any more. */
  done = false;
  /** The element that the last `advance` arrived at. */
  current: unknown = undefined;

  /** False at the end. An iterator that throws is done, so it isn't closed afterwards. */
  abstract advance(): boolean;

  /** Leaving the loop early. */
  abstract close(): void;

  /** Leaving by a throw: whatever closing throws gives way to it. */
  abandon(): void {
    try {
      this.close();
    } catch {
      // The error that is on its way counts.
    }
  }
}

/** Mirrors the specification's record: `next` is looked up once. */
class ProtocolIterator extends IteratorRecord {
  private readonly iterator: Iterator<unknown>;
  private readonly next: () => unknown;

  constructor(iterator: Iterator<unknown>) {
    super();
    this.iterator = iterator;
    this.next = iterator.next;
  }

  advance(): boolean {
    if (this.done) return false;
    this.done = true;
    const result = Reflect.apply(this.next, this.iterator, []);
    if (!isObject(result)) throw notAnObject(result);
    if ((result as IteratorResult<unknown>).done) return false;
    this.current = (result as IteratorResult<unknown>).value;
    this.done = false;
    return true;
  }

  close(): void {
    if (this.done) return;
    this.done = true;
    const method = this.iterator.return;
    if (method === undefined || method === null) return;
    const result = Reflect.apply(method, this.iterator, []);
    if (!isObject(result)) throw notAnObject(result);
  }
}

/** An array whose iterator is the language's own: nobody can see that it is left out. */
class ArrayIterator extends IteratorRecord {
  constructor(
    private readonly array: readonly unknown[],
    private next: number,
  ) {
    super();
  }

  advance(): boolean {
    if (this.done || this.next >= this.array.length) {
      this.done = true;
      return false;
    }
    this.current = this.array[this.next++];
    return true;
  }

  close(): void {
    this.done = true;
  }
}

/** The names that the language's own `for … in` visits, as it visits them. */
class KeyIterator extends IteratorRecord {
  private readonly keys: Generator<string>;

  constructor(object: unknown) {
    super();
    this.keys = namesIn(object);
  }

  advance(): boolean {
    if (this.done) return false;
    this.done = true; // unless it goes well: a proxy's trap may throw
    const { value, done } = this.keys.next();
    if (done) return false;
    this.current = value;
    this.done = false;
    return true;
  }

  close(): void {
    this.done = true;
  }
}

function* namesIn(object: unknown): Generator<string> {
  for (const name in object as object) yield name;
}

/** `for (… in object)`. */
export function keyIterator(object: unknown): IteratorRecord {
  return new KeyIterator(object);
}

const arrayValues = Array.prototype[Symbol.iterator];
const arrayIteratorPrototype = Object.getPrototypeOf([][Symbol.iterator]()) as Iterator<unknown>;
const arrayNext = arrayIteratorPrototype.next;

const isObject = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

const notAnObject = (result: unknown): TypeError =>
  new TypeError(`Iterator result ${String(result)} is not an object`);

/** `for (… of iterable)`; throws `error()` when it isn't iterable. */
export function openIterator(iterable: unknown, error: () => TypeError): IteratorRecord {
  if (iterable === undefined || iterable === null) throw error();
  const method = (iterable as Iterable<unknown>)[Symbol.iterator];
  if (typeof method !== 'function') throw error();
  if (method === arrayValues && arrayIteratorPrototype.next === arrayNext) {
    if (Array.isArray(iterable)) return new ArrayIterator(iterable, 0);
  }
  const iterator = Reflect.apply(method, iterable, []);
  if (!isObject(iterator)) {
    throw new TypeError('Result of the Symbol.iterator method is not an object');
  }
  return new ProtocolIterator(iterator);
}

/** The iteration by an iterator's methods. */
export function iterationOf(iterator: Iterator<unknown>): IteratorRecord {
  return new ProtocolIterator(iterator);
}

/** The iteration over an array whose next element is number `next`. */
export function arrayIteratorAt(array: readonly unknown[], next: number): IteratorRecord {
  return new ArrayIterator(array, next);
}

/**
 * A throw leaves a function, or the part of it whose iterators stand in the registers from `from` on:
 * its open iterations end, the innermost (highest register) first.
 */
export function abandonIterators(registers: readonly unknown[], from = 0): void {
  for (let i = registers.length - 1; i >= from; i--) {
    const value = registers[i];
    if (value instanceof IteratorRecord) value.abandon();
  }
}
