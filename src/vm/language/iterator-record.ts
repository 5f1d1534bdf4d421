import { notMethod } from './native-errors.ts';
import { apply, isArray, isObject } from './primordials.ts';

/** An iteration in progress: the content of an iterator register. */
export abstract class IteratorRecord {
  readonly #isOne = true;
  /** True once the iterator is exhausted, closed or failed: it is no longer called. */
  done = false;
  /** The element that the last `advance` reached. */
  current: unknown = undefined;

  /** Avoids `instanceof`, which would run the `getPrototypeOf` trap of a user's Proxy. */
  static is(value: unknown): value is IteratorRecord {
    return typeof value === 'object' && value !== null && #isOne in value;
  }

  /** Advances; returns false at the end. An iterator that throws is done, so it isn't closed afterwards. */
  abstract advance(): boolean;

  /** Like `advance`, for an elision in a pattern. */
  skip(): void {
    this.advance();
  }

  /** Closes the iterator when the loop is left early. */
  abstract close(): void;

  /** Closes the iterator after an exception, which takes precedence over exceptions from closing. */
  abandon(): void {
    try {
      this.close();
    } catch {
      // The pending error takes precedence.
    }
  }
}

/** An iterator with its `next` method, which is looked up once. */
export interface Protocol {
  readonly iterator: Iterator<unknown>;
  readonly next: () => unknown;
}

/** Mirrors the specification's record. */
export class ProtocolIterator extends IteratorRecord {
  private iterator!: Iterator<unknown>;
  private next!: () => unknown;

  /** Begins an iteration whose `next` method has been looked up before. */
  begin(iterator: Iterator<unknown>, next: () => unknown): this {
    this.iterator = iterator;
    this.next = next;
    return this;
  }

  advance(): boolean {
    if (this.done) return false;
    this.done = true;
    const result = this.step();
    if (result.done) return false;
    this.current = result.value;
    this.done = false;
    return true;
  }

  /** Doesn't read the value. */
  override skip(): void {
    if (this.done) return;
    this.done = true;
    if (!this.step().done) this.done = false;
  }

  private step(): IteratorResult<unknown> {
    if (typeof this.next !== 'function') throw notMethod(this.next);
    return iteratorResult(apply(this.next, this.iterator, [])) as IteratorResult<unknown>;
  }

  close(): void {
    if (this.done) return;
    this.done = true;
    const method = this.iterator.return;
    if (method === undefined || method === null) return;
    if (typeof method !== 'function') throw notMethod(method);
    iteratorResult(apply(method, this.iterator, []));
  }
}

/** An array with the built-in iterator, which isn't called because that is not observable. */
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

/** The names of the built-in `for … in`, visited in the same way. */
class KeyIterator extends IteratorRecord {
  private readonly keys: Generator<string>;

  constructor(object: unknown) {
    super();
    this.keys = namesIn(object);
  }

  advance(): boolean {
    if (this.done) return false;
    this.done = true; // unless the step succeeds: a proxy's trap may throw
    const { value, done } = apply(generatorNext, this.keys, []) as IteratorResult<string>;
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

const generatorNext = namesIn(undefined).next;

/** `for (… in object)`. */
export function keyIterator(object: unknown): IteratorRecord {
  return new KeyIterator(object);
}

const arrayValues = Array.prototype[Symbol.iterator];
const arrayIteratorPrototype = Object.getPrototypeOf([][Symbol.iterator]()) as Iterator<unknown>;
const arrayNext = arrayIteratorPrototype.next;

export function iteratorResult(result: unknown): unknown {
  if (isObject(result)) return result;
  throw new TypeError(`Iterator result ${String(result)} is not an object`);
}

/** `for (… of iterable)`; throws `error()` if the value isn't iterable. */
export function openIterator(iterable: unknown, error: () => TypeError): IteratorRecord {
  const method = iteratorMethod(iterable, error);
  if (method === arrayValues && arrayIteratorPrototype.next === arrayNext) {
    if (isArray(iterable)) return new ArrayIterator(iterable, 0);
  }
  const { iterator, next } = callProtocol(iterable, method);
  return new ProtocolIterator().begin(iterator, next);
}

/** Returns the iterator itself, even for an array. */
export const protocolOf = (iterable: unknown, error: () => TypeError): Protocol =>
  callProtocol(iterable, iteratorMethod(iterable, error));

function iteratorMethod(iterable: unknown, error: () => TypeError): () => unknown {
  if (iterable === undefined || iterable === null) throw error();
  const method = (iterable as Iterable<unknown>)[Symbol.iterator];
  if (typeof method !== 'function') throw error();
  return method;
}

function callProtocol(iterable: unknown, method: () => unknown): Protocol {
  const iterator = callMethod(iterable, method);
  return { iterator, next: iterator.next };
}

function callMethod(iterable: unknown, method: () => unknown): Iterator<unknown> {
  const iterator = apply(method, iterable, []) as Iterator<unknown>;
  if (isObject(iterator)) return iterator;
  throw new TypeError('Result of the Symbol.iterator method is not an object');
}

/** Returns only the iterator, for the engine's own `yield*`, which looks up `next`. */
export const iteratorOf = (iterable: unknown, error: () => TypeError): Iterator<unknown> =>
  callMethod(iterable, iteratorMethod(iterable, error));

/** Returns an iteration over an array that continues at index `next`. */
export function arrayIteratorAt(array: readonly unknown[], next: number): IteratorRecord {
  return new ArrayIterator(array, next);
}

/** The rest of a `for … in`: the object's original names that it still has. */
class NameIterator extends ArrayIterator {
  constructor(
    private readonly object: object,
    names: readonly unknown[],
    next: number,
  ) {
    super(names, next);
  }

  override advance(): boolean {
    while (super.advance()) if ((this.current as string) in this.object) return true;
    return false;
  }
}

export function nameIteratorAt(
  object: object,
  names: readonly unknown[],
  next: number,
): IteratorRecord {
  return new NameIterator(object, names, next);
}

/**
 * Closes the iterations that an exception leaves, in the registers from `from` on, innermost (highest register) first.
 */
export function abandonIterators(registers: readonly unknown[], from = 0): void {
  for (let i = registers.length - 1; i >= from; i--) {
    const value = registers[i];
    if (IteratorRecord.is(value)) value.abandon();
  }
}
