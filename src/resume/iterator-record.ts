/** An iteration under way: what an iterator register holds. Mirrors the specification's record. */
export class IteratorRecord {
  /** Exhausted, closed or failed: `next` and `return` are not called any more. */
  done = false;
  /** The element that the last `advance` arrived at. */
  current: unknown = undefined;
  private readonly iterator: Iterator<unknown>;
  private readonly next: () => unknown;

  constructor(iterator: Iterator<unknown>) {
    this.iterator = iterator;
    this.next = iterator.next;
  }

  /** False at the end. An iterator that throws is done, so it isn't closed afterwards. */
  advance(): boolean {
    if (this.done) return false;
    this.done = true;
    const result = Reflect.apply(this.next, this.iterator, []);
    if (!isObject(result))
      throw new TypeError(`Iterator result ${String(result)} is not an object`);
    if ((result as IteratorResult<unknown>).done) return false;
    this.current = (result as IteratorResult<unknown>).value;
    this.done = false;
    return true;
  }

  /** Leaving the loop early. */
  close(): void {
    if (this.done) return;
    this.done = true;
    const method = this.iterator.return;
    if (method === undefined || method === null) return;
    const result = Reflect.apply(method, this.iterator, []);
    if (!isObject(result)) throw notAnObject(result);
  }

  /** Leaving by a throw: whatever closing throws gives way to it. */
  abandon(): void {
    try {
      this.close();
    } catch {
      // The error that is on its way counts.
    }
  }
}

const isObject = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

const notAnObject = (result: unknown): TypeError =>
  new TypeError(`Iterator result ${String(result)} is not an object`);

/** `for (… of iterable)`; throws `error()` when it isn't iterable. */
export function openIterator(iterable: unknown, error: () => TypeError): IteratorRecord {
  if (iterable === undefined || iterable === null) throw error();
  const method = (iterable as Iterable<unknown>)[Symbol.iterator];
  if (typeof method !== 'function') throw error();
  const iterator = Reflect.apply(method, iterable, []);
  if (!isObject(iterator)) {
    throw new TypeError('Result of the Symbol.iterator method is not an object');
  }
  return new IteratorRecord(iterator);
}

/** The iteration over an array whose next element is number `next`. */
export function arrayIteratorAt(array: readonly unknown[], next: number): IteratorRecord {
  const record = new IteratorRecord(array[Symbol.iterator]());
  for (let i = 0; i < next; i++) record.advance();
  record.current = undefined;
  return record;
}

/** A throw leaves a function: its open iterations end, the innermost (highest register) first. */
export function abandonIterators(registers: readonly unknown[]): void {
  for (let i = registers.length - 1; i >= 0; i--) {
    const value = registers[i];
    if (value instanceof IteratorRecord) value.abandon();
  }
}
