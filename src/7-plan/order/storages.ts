import type { ValueId } from '../../../runtime/program/program.ts';

/** One piece of memory while a program runs, as the planner follows it: who holds it, and its size. */
export interface Storage {
  /** Aligned; 0 for memory that belongs to the caller, which the program neither makes nor frees. */
  readonly bytes: number;
  /** It has no owner outside of the program: it may be overwritten when it is dead. */
  exclusive: boolean;
  /** Values in the scope that hold it. */
  owners: number;
}

/** Counts bytes as the allocator will count them. */
export class StorageCount {
  readonly #of = new Map<ValueId, Storage>();
  live = 0;
  peak = 0;

  /** The memory of an input enters the scope; with `bytes` if the scope owns it exclusively from then on. */
  enter(id: ValueId, bytes: number, exclusive = false): void {
    this.#of.set(id, { bytes, exclusive, owners: 1 });
    this.#grow(bytes);
  }

  /** A value from an earlier program is in the scope already. */
  carry(id: ValueId, storage: Storage): void {
    this.#of.set(id, storage);
  }

  allocate(id: ValueId, bytes: number): void {
    this.#of.set(id, { bytes, exclusive: true, owners: 1 });
    this.#grow(bytes);
  }

  /** Memory that an op takes only while it runs. */
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

  /** The values in the scope, in the order in which they came. */
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
