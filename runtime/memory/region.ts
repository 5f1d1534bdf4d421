import { invariant } from '../errors/invariant.ts';
import type { MemoryCounter } from './stats.ts';

/** The allocator that a region's block comes from. */
export interface RegionOwner {
  readonly counter: MemoryCounter;
  /** Frees the block at this address. */
  closeRegion(ptr: number): void;
}

/**
 * A block of an allocator in which a plan says where everything lies. The block counts as reserved, and
 * what lies in it as allocated while it is live. Once closed, the block goes back when it is empty.
 */
export class Region {
  readonly ptr: number;
  readonly bytes: number;
  readonly #allocator: RegionOwner;
  #alive = 0;
  #isOpen = true;

  constructor(allocator: RegionOwner, ptr: number, bytes: number) {
    this.#allocator = allocator;
    this.ptr = ptr;
    this.bytes = bytes;
  }

  get isEmpty(): boolean {
    return this.#alive === 0;
  }

  /** Address of a block at an offset, which must be free by the plan. Both are aligned. */
  alloc(offset: number, bytes: number): number {
    invariant(this.#isOpen && offset + bytes <= this.bytes, 'a block outside of its region');
    const ptr = this.ptr + offset;
    this.#alive++;
    this.#allocator.counter.alloc(ptr, bytes);
    return ptr;
  }

  free(ptr: number, bytes: number): void {
    this.#allocator.counter.free(ptr, bytes);
    this.#alive--;
    this.#giveBack();
  }

  close(): void {
    this.#isOpen = false;
    this.#giveBack();
  }

  #giveBack(): void {
    if (!this.#isOpen && this.#alive === 0) this.#allocator.closeRegion(this.ptr);
  }
}
