import type { ValueId } from '../../../runtime/program/program.ts';

/** A block of memory during a run as the planner sees it: its size and its owners. */
export interface Storage {
  /** Aligned; 0 for memory of the caller, which the program neither allocates nor frees. */
  readonly bytes: number;
  /** Whether it has no owner outside the program: it may be overwritten once dead. */
  exclusive: boolean;
  /** The number of scope values that own it. */
  owners: number;
  /** Set for memory that only a tape owns: its bytes are simulated when they are read. */
  readonly isTape?: true;
}

/** Counts bytes exactly as the allocator does. */
export class StorageCount {
  /** By value, while it is in the scope. */
  readonly #of: (Storage | undefined)[];
  readonly #arrived: ValueId[] = [];
  live = 0;
  peak = 0;

  /** `values`: the number of values in the program. */
  constructor(values: number) {
    this.#of = new Array(values);
  }

  /** Moves an input's memory into the scope; `bytes` if the scope is its only owner from then on. */
  enter(id: ValueId, bytes: number, exclusive = false): void {
    this.#put(id, { bytes, exclusive, owners: 1 });
    this.#grow(bytes);
  }

  /** Adds a value that an earlier program put into the scope. */
  carry(id: ValueId, storage: Storage): void {
    this.#put(id, storage);
  }

  allocate(id: ValueId, bytes: number): void {
    this.#put(id, { bytes, exclusive: true, owners: 1 });
    this.#grow(bytes);
  }

  /** Counts memory that an op uses only while it runs. */
  transient(bytes: number): void {
    this.peak = Math.max(this.peak, this.live + bytes);
  }

  share(id: ValueId, base: ValueId): void {
    const storage = this.of(base);
    storage.owners++;
    this.#put(id, storage);
  }

  /** Marks the memory as possibly shared. */
  expose(id: ValueId): void {
    const storage = this.#of[id];
    if (storage) storage.exclusive = false;
  }

  free(id: ValueId): void {
    const storage = this.of(id);
    this.#of[id] = undefined;
    if (--storage.owners === 0) this.live -= storage.bytes;
  }

  /** Returns the values in the scope, in order of arrival. */
  values(): ValueId[] {
    return this.#arrived.filter((id) => this.#of[id]);
  }

  of(id: ValueId): Storage {
    return this.#of[id]!;
  }

  #put(id: ValueId, storage: Storage): void {
    if (!this.#of[id]) this.#arrived.push(id);
    this.#of[id] = storage;
  }

  #grow(bytes: number): void {
    this.live += bytes;
    this.peak = Math.max(this.peak, this.live);
  }
}
