import type { OpIndex, StorageIndex } from './memory-graph.ts';

/** The writers and readers of one memory so far. */
interface Accesses {
  /** One, or several where memories turned out to be one. */
  writers: OpIndex[];
  /** Since the last write. */
  readers: OpIndex[];
  /** The caller can see it. */
  callers: boolean;
}

/** The ops that must come before one, each once. */
export class EarlierOps {
  /** The number of the last op that each op was noted for, and 1. */
  readonly #notedFor: Int32Array;
  #op: OpIndex = -1;
  list: OpIndex[] = [];

  constructor(size: number) {
    this.#notedFor = new Int32Array(size);
  }

  startWith(op: OpIndex): void {
    this.#op = op;
    this.list = [];
    // Not before itself.
    this.#notedFor[op] = op + 1;
  }

  add(earlier: OpIndex): void {
    if (this.#notedFor[earlier] === this.#op + 1) return;
    this.#notedFor[earlier] = this.#op + 1;
    this.list.push(earlier);
  }
}

/**
 * The order that accesses to memory have to keep. Values that may be one memory count as one: a result of a control op
 * may be one of its operands. What may be one memory counts as one: a result of a control op may be one of its
 * operands.
 */
export class AccessOrder {
  readonly #of: Accesses[] = [];
  #lastRefusal: OpIndex = -1;

  add(storage: StorageIndex, callers: boolean): void {
    this.#of[storage] = { writers: [], readers: [], callers };
  }

  /** The storage may be the other one. */
  join(storage: StorageIndex, other: StorageIndex): void {
    const [own, joined] = [this.#of[storage]!, this.#of[other]!];
    if (own === joined) return;
    joined.writers.push(...own.writers);
    joined.readers.push(...own.readers);
    joined.callers ||= own.callers;
    this.#of.forEach((accesses, i) => {
      if (accesses === own) this.#of[i] = joined;
    });
  }

  read(storage: StorageIndex, op: OpIndex, earlier: EarlierOps): void {
    const { writers, readers } = this.#of[storage]!;
    for (const writer of writers) earlier.add(writer);
    readers.push(op);
  }

  /** A write to the caller's memory comes after all that may refuse before it. */
  write(storage: StorageIndex, op: OpIndex, earlier: EarlierOps): void {
    const accesses = this.#of[storage]!;
    for (const writer of accesses.writers) earlier.add(writer);
    for (const reader of accesses.readers) earlier.add(reader);
    accesses.readers = [];
    accesses.writers = [op];
    if (accesses.callers && this.#lastRefusal >= 0) earlier.add(this.#lastRefusal);
  }

  /** Ops that may throw, or have an observable effect, stay in program order. */
  refuse(op: OpIndex, earlier: EarlierOps): void {
    if (this.#lastRefusal >= 0) earlier.add(this.#lastRefusal);
    this.#lastRefusal = op;
  }
}
