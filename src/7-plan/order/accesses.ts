import type { OpIndex, StorageIndex } from './memory-graph.ts';

/** Collects the ops that must come before one op, without duplicates. */
export class EarlierOps {
  /** For each op: 1 plus the last op it was recorded for. */
  readonly #notedFor: Int32Array;
  readonly #note: (earlier: OpIndex) => void;
  #op: OpIndex = -1;

  constructor(size: number, note: (earlier: OpIndex) => void) {
    this.#notedFor = new Int32Array(size);
    this.#note = note;
  }

  startWith(op: OpIndex): void {
    this.#op = op;
    // An op doesn't come before itself.
    this.#notedFor[op] = op + 1;
  }

  add(earlier: OpIndex): void {
    if (this.#notedFor[earlier] === this.#op + 1) return;
    this.#notedFor[earlier] = this.#op + 1;
    this.#note(earlier);
  }
}

/** Storages that may share memory form a group. */
type Group = number;

const none = -1;

/**
 * The order that memory accesses must keep. Values that may share memory count as one value: a result of a control op
 * may be one of its operands.
 */
export class AccessOrder {
  readonly #groupOf: Group[] = [];
  /** Whether the caller can see the group. */
  readonly #callers: boolean[] = [];
  /** The last writers of each group: none or one, or several if groups were merged. */
  readonly #writer: OpIndex[] = [];
  readonly #otherWriters = new Map<Group, OpIndex[]>();
  /** The readers of each group since the last write: the first and last link of a chain. */
  readonly #first: number[] = [];
  readonly #last: number[] = [];
  readonly #reader: OpIndex[] = [];
  readonly #next: number[] = [];
  #lastRefusal: OpIndex = none;

  add(storage: StorageIndex, callers: boolean): void {
    this.#groupOf[storage] = storage;
    this.#callers[storage] = callers;
    this.#writer[storage] = none;
    this.#first[storage] = none;
    this.#last[storage] = none;
  }

  /** Records that the two storages may share memory. */
  join(storage: StorageIndex, other: StorageIndex): void {
    const [own, joined] = [this.#groupOf[storage]!, this.#groupOf[other]!];
    if (own === joined) return;
    const writers = [...this.#writersOf(joined), ...this.#writersOf(own)];
    const readers = [...this.#readersOf(own)];
    this.#writer[joined] = writers[0] ?? none;
    this.#otherWriters.set(joined, writers.slice(1));
    for (const reader of readers) this.#addReader(joined, reader);
    this.#callers[joined] ||= this.#callers[own]!;
    this.#groupOf.forEach((group, i) => {
      if (group === own) this.#groupOf[i] = joined;
    });
  }

  read(storage: StorageIndex, op: OpIndex, earlier: EarlierOps): void {
    const group = this.#groupOf[storage]!;
    this.#addWriters(group, earlier);
    this.#addReader(group, op);
  }

  /** Orders a write to the caller's memory after all earlier ops that may throw. */
  write(storage: StorageIndex, op: OpIndex, earlier: EarlierOps): void {
    const group = this.#groupOf[storage]!;
    this.#addWriters(group, earlier);
    for (const reader of this.#readersOf(group)) earlier.add(reader);
    this.#first[group] = none;
    this.#last[group] = none;
    this.#writer[group] = op;
    this.#otherWriters.delete(group);
    if (this.#callers[group] && this.#lastRefusal !== none) earlier.add(this.#lastRefusal);
  }

  /** Keeps ops that may throw or have an observable effect in program order. */
  refuse(op: OpIndex, earlier: EarlierOps): void {
    if (this.#lastRefusal !== none) earlier.add(this.#lastRefusal);
    this.#lastRefusal = op;
  }

  #addWriters(group: Group, earlier: EarlierOps): void {
    const writer = this.#writer[group]!;
    if (writer === none) return;
    earlier.add(writer);
    for (const other of this.#otherWriters.get(group) ?? []) earlier.add(other);
  }

  #writersOf(group: Group): OpIndex[] {
    const writer = this.#writer[group]!;
    return writer === none ? [] : [writer, ...(this.#otherWriters.get(group) ?? [])];
  }

  #addReader(group: Group, op: OpIndex): void {
    const link = this.#reader.push(op) - 1;
    this.#next.push(none);
    const last = this.#last[group]!;
    if (last === none) this.#first[group] = link;
    else this.#next[last] = link;
    this.#last[group] = link;
  }

  *#readersOf(group: Group): Iterable<OpIndex> {
    for (let link = this.#first[group]!; link !== none; link = this.#next[link]!) {
      yield this.#reader[link]!;
    }
  }
}
