import type { ValueId } from '../../../runtime/program/program.ts';

/** One piece of memory during a run as the planner sees it: its size and its owners. */
export interface Storage {
  /** Aligned; 0 for memory of the caller, which the program neither allocates nor frees. */
  readonly bytes: number;
  /** Whether it has no owner outside the program: it may be overwritten once dead. */
  exclusive: boolean;
  /** The number of values in the scope that hold it. */
  owners: number;
}

/** Counts bytes exactly as the allocator will. */
export class StorageCount {
  readonly #of = new Map<ValueId, Storage>();
  live = 0;
  peak = 0;

  /** An input's memory enters the scope; `bytes` if the scope is its only owner from then on. */
  enter(id: ValueId, bytes: number, exclusive = false): void {
    this.#of.set(id, { bytes, exclusive, owners: 1 });
    this.#grow(bytes);
  }

  /** A value of an earlier program is already in the scope. */
  carry(id: ValueId, storage: Storage): void {
    this.#of.set(id, storage);
  }

  allocate(id: ValueId, bytes: number): void {
    this.#of.set(id, { bytes, exclusive: true, owners: 1 });
    this.#grow(bytes);
  }

  /** Memory that an op uses only while it runs. */
  transient(bytes: number): void {
    this.peak = Math.max(this.peak, this.live + bytes);
  }

  share(id: ValueId, base: ValueId): void {
    const storage = this.of(base);
    storage.owners++;
    this.#of.set(id, storage);
  }

  /** Marks the memory as possibly shared. */
  expose(id: ValueId): void {
    const storage = this.#of.get(id);
    if (storage) storage.exclusive = false;
  }

  free(id: ValueId): void {
    const storage = this.of(id);
    this.#of.delete(id);
    if (--storage.owners === 0) this.live -= storage.bytes;
  }

  /** The values in the scope, in order of arrival. */
  values(): ValueId[] {
    return [...this.#of.keys()];
  }

  of(id: ValueId): Storage {
    return this.#of.get(id)!;
  }

  #grow(bytes: number): void {
    this.live += bytes;
    this.peak = Math.max(this.peak, this.live);
  }
}
