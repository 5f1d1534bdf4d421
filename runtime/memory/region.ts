import { invariant } from '../errors/invariant.ts';
import type { MemoryCounter } from './stats.ts';

/** The allocator that owns a region's block. */
export interface RegionOwner {
  readonly counter: MemoryCounter;
  /** Frees the block at this address. */
  closeRegion(ptr: number): void;
}

/**
 * An allocator block laid out by a plan. The block counts as reserved, and its live contents as allocated. A
 * closed region's block is freed once it is empty.
 */
export class Region {
  readonly ptr: number;
  readonly bytes: number;
  readonly #allocator: RegionOwner;
  #live = 0;
  #isOpen = true;

  constructor(allocator: RegionOwner, ptr: number, bytes: number) {
    this.#allocator = allocator;
    this.ptr = ptr;
    this.bytes = bytes;
  }

  get isEmpty(): boolean {
    return this.#live === 0;
  }

  /** Returns the address of a block at an offset, which must be free according to the plan. Both are aligned. */
  alloc(offset: number, bytes: number): number {
    invariant(this.#isOpen && offset + bytes <= this.bytes, 'a block outside of its region');
    const ptr = this.ptr + offset;
    this.#live++;
    this.#allocator.counter.alloc(ptr, bytes);
    return ptr;
  }

  free(ptr: number, bytes: number): void {
    this.#allocator.counter.free(ptr, bytes);
    this.#live--;
    this.#closeIfUnused();
  }

  close(): void {
    this.#isOpen = false;
    this.#closeIfUnused();
  }

  #closeIfUnused(): void {
    if (!this.#isOpen && this.#live === 0) this.#allocator.closeRegion(this.ptr);
  }
}
