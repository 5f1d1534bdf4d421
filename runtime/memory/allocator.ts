import { InvariantError } from '../errors/invariant.ts';
import { noteGrowth } from './pressure.ts';
import { Region } from './region.ts';
import { MemoryCounter } from './stats.ts';

/** Every block is a multiple of this size on every device, so that plans are valid on all of them. */
export const alignment = 64;

export function alignedBytes(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

/** Allocates memory of one device. The `bytes` of `free` are those passed to `alloc`. */
export interface Allocator {
  readonly counter: MemoryCounter;
  /** Returns the address of at least `bytes` bytes. Throws OutOfMemoryError without side effects. */
  alloc(bytes: number): number;
  free(ptr: number, bytes: number): void;
  /** Returns the reserved memory that is not allocated. Visits all blocks. */
  freeMemory(): FreeMemory;
  /**
   * Allocates a region laid out by a plan; it only counts as reserved. Undefined on devices whose memory is not
   * addressed by offsets. Throws OutOfMemoryError without side effects.
   */
  openRegion?(bytes: number): Region;
  /** Limits of regions; by default offsets are multiples of `alignment` and the size is unlimited. */
  readonly regionLimits?: RegionLimits;
  /**
   * Ensures that allocations of all these sizes together will succeed, on devices that pool blocks by size. Throws
   * OutOfMemoryError without side effects.
   */
  reserve?(sizes: readonly number[]): void;
}

/** In bytes. */
export interface RegionLimits {
  /** The alignment of offsets. */
  readonly alignment: number;
  /** The size of the largest region. */
  readonly mostBytes: number;
}

/** Unused reserved memory of a device, in bytes. */
export interface FreeMemory {
  readonly free: number;
  /** The largest contiguous piece. */
  readonly largest: number;
}

/** The source of an allocator's chunks. */
export interface ChunkSource {
  /** Reserves at least `bytes` more bytes of the device. Throws OutOfMemoryError. */
  grow(bytes: number): { readonly ptr: number; readonly bytes: number };
}

/** A block of a chunk, linked with its neighbors in address order so that free blocks can be joined. */
interface Block {
  ptr: number;
  bytes: number;
  free: boolean;
  /** Freed, but not split or joined, for the next allocation of its size. */
  kept: boolean;
  before: Block | undefined;
  after: Block | undefined;
}

/** Includes kept blocks, which are joined with their neighbors when nothing else fits. */
function isFree(block: Block | undefined): block is Block {
  return block !== undefined && (block.free || block.kept);
}

/** Freed blocks up to this size, in bytes, are kept for the next allocation of their size. */
const mostKept = 4096;

/**
 * Auto-growth best-fit allocation: takes the smallest free block that is large enough, splits off the rest, joins freed
 * blocks with free neighbors, and reserves a new chunk only if nothing fits. Small freed blocks are kept for the next
 * allocation of their size, usually the next op, and joined only before a new chunk is reserved.
 */
export class BestFitAllocator implements Allocator {
  readonly counter: MemoryCounter;
  readonly #source: ChunkSource;
  /** Sorted by size, then address, so that the choice doesn't depend on history. */
  readonly #free: Block[] = [];
  /** Allocated or kept blocks, by address. */
  readonly #used = new Map<number, Block>();
  /** Kept blocks by their size, in units of the alignment. */
  readonly #kept: Block[][] = Array.from({ length: mostKept / alignment + 1 }, () => []);
  #last: Block | undefined;

  constructor(device: string, source: ChunkSource) {
    this.counter = new MemoryCounter(device);
    this.#source = source;
  }

  alloc(bytes: number): number {
    // An empty tensor owns no memory; address 0 is never dereferenced.
    if (bytes === 0) return 0;
    const block = this.#use(alignedBytes(bytes));
    this.counter.alloc(block.ptr, block.bytes);
    return block.ptr;
  }

  openRegion(bytes: number): Region {
    const block = this.#use(alignedBytes(bytes));
    return new Region(this, block.ptr, block.bytes);
  }

  /** Frees a region's block. */
  closeRegion(ptr: number): void {
    this.#recycle(this.#allocatedAt(ptr));
  }

  #allocatedAt(ptr: number): Block {
    const block = this.#used.get(ptr);
    if (!block || block.kept) {
      throw new InvariantError(`free of address ${ptr}, which is not allocated`);
    }
    return block;
  }

  #use(size: number): Block {
    if (size <= mostKept) {
      const kept = this.#kept[size / alignment]!.pop();
      if (kept) {
        kept.kept = false;
        return kept;
      }
    }
    const block = this.#take(size) ?? this.#takeAfterJoining(size) ?? this.#grow(size);
    if (block.bytes > size) this.#split(block, size);
    block.free = false;
    this.#used.set(block.ptr, block);
    return block;
  }

  free(ptr: number, bytes: number): void {
    if (bytes === 0) return;
    const block = this.#allocatedAt(ptr);
    if (block.bytes !== alignedBytes(bytes)) {
      throw new InvariantError(`free of ${bytes} bytes of a ${block.bytes} block`);
    }
    this.counter.free(ptr, block.bytes);
    this.#recycle(block);
  }

  freeMemory(): FreeMemory {
    let free = 0;
    let largest = 0;
    for (const block of [...this.#free, ...this.#kept.flat()]) {
      free += block.bytes;
      // A run of free neighbors is measured once, from its first block.
      if (isFree(block.before)) continue;
      let run = 0;
      for (let next: Block | undefined = block; isFree(next); next = next.after) run += next.bytes;
      largest = Math.max(largest, run);
    }
    return { free, largest };
  }

  #recycle(block: Block): void {
    if (block.bytes <= mostKept) {
      block.kept = true;
      this.#kept[block.bytes / alignment]!.push(block);
    } else {
      this.#release(block);
    }
  }

  #release(block: Block): void {
    this.#used.delete(block.ptr);
    block.free = true;
    this.#insert(this.#join(block));
  }

  /**
   * Joins kept blocks, which may make room for a larger one. In the order of their addresses, they are inserted at one
   * place of the list; in the order in which a million of them were freed, each would move half of it.
   */
  #takeAfterJoining(size: number): Block | undefined {
    for (const list of this.#kept) {
      for (const block of list.sort((a, b) => a.ptr - b.ptr)) {
        block.kept = false;
        this.#release(block);
      }
      list.length = 0;
    }
    return this.#take(size);
  }

  #take(size: number): Block | undefined {
    const index = this.#position(size, -1);
    if (index === this.#free.length) return undefined;
    return this.#free.splice(index, 1)[0];
  }

  #grow(size: number): Block {
    const last = this.#last;
    const chunk = this.#source.grow(size);
    this.counter.reserve(chunk.bytes);
    noteGrowth(this.counter);
    const block: Block = { ...chunk, free: true, kept: false, before: undefined, after: undefined };
    this.#last = block;
    // A chunk adjacent to the last one extends its free tail instead of fragmenting memory.
    if (last && last.ptr + last.bytes === chunk.ptr) {
      last.after = block;
      block.before = last;
      return this.#join(block);
    }
    return block;
  }

  #split(block: Block, size: number): void {
    const rest: Block = {
      ptr: block.ptr + size,
      bytes: block.bytes - size,
      free: true,
      kept: false,
      before: block,
      after: block.after,
    };
    if (rest.after) rest.after.before = rest;
    if (this.#last === block) this.#last = rest;
    block.after = rest;
    block.bytes = size;
    this.#insert(rest);
  }

  /** Joins a free block with its free neighbors; neither the block nor the result is in a list. */
  #join(block: Block): Block {
    let joined = block;
    if (joined.after?.free) joined = this.#merge(joined, joined.after, joined.after);
    if (joined.before?.free) joined = this.#merge(joined.before, joined, joined.before);
    return joined;
  }

  #merge(left: Block, right: Block, listed: Block): Block {
    this.#free.splice(this.#position(listed.bytes, listed.ptr), 1);
    left.bytes += right.bytes;
    left.after = right.after;
    if (right.after) right.after.before = left;
    if (this.#last === right) this.#last = left;
    return left;
  }

  #insert(block: Block): void {
    this.#free.splice(this.#position(block.bytes, block.ptr), 0, block);
  }

  /** Returns the first index whose block is not smaller than (bytes, ptr). */
  #position(bytes: number, ptr: number): number {
    let low = 0;
    let high = this.#free.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const block = this.#free[middle]!;
      if ((block.bytes - bytes || block.ptr - ptr) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
