import { InvariantError } from '../errors/invariant.ts';
import { noteGrowth } from './pressure.ts';
import { Region } from './region.ts';
import { MemoryCounter } from './stats.ts';

/** Every block is a multiple of this many bytes, on every device, so that plans hold on all of them. */
export const alignment = 64;

export function alignedBytes(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

/** Hands out memory of one device. `bytes` of `free` are those that `alloc` was asked for. */
export interface Allocator {
  readonly counter: MemoryCounter;
  /** Address of at least `bytes` bytes. Throws OutOfMemoryError and leaves everything as before. */
  alloc(bytes: number): number;
  free(ptr: number, bytes: number): void;
  /** Reserved memory that is not allocated. Walks over all blocks. */
  freeMemory(): FreeMemory;
  /**
   * A block to lay out by a plan; counts as reserved alone. Undefined on devices whose memory is not
   * addressed by offsets. Throws OutOfMemoryError and leaves everything as before.
   */
  openRegion?(bytes: number): Region;
  /** Limits of regions; by default offsets are multiples of `alignment`, and there is no largest region. */
  readonly regionLimits?: RegionLimits;
  /**
   * Where blocks are pooled by size: makes sure that allocations of these sizes, all at once, find memory. Throws
   * OutOfMemoryError and leaves everything as before.
   */
  reserve?(sizes: readonly number[]): void;
}

/** In bytes. */
export interface RegionLimits {
  /** Offsets are multiples of it. */
  readonly alignment: number;
  /** The largest region. */
  readonly mostBytes: number;
}

/** Memory of a device that is reserved and not in use, in bytes. */
export interface FreeMemory {
  readonly free: number;
  /** The most that one tensor can get of it: what lies in one piece. */
  readonly largest: number;
}

/** Where an allocator gets its chunks. */
export interface ChunkSource {
  /** Takes at least `bytes` more from the device. Throws OutOfMemoryError. */
  grow(bytes: number): { readonly ptr: number; readonly bytes: number };
}

/** A piece of a chunk; neighbours in address order are linked so that free ones can be joined. */
interface Block {
  ptr: number;
  bytes: number;
  free: boolean;
  /** Given back, and kept at its size for the next one of it. */
  kept: boolean;
  before: Block | undefined;
  after: Block | undefined;
}

/** Kept blocks count: they join their neighbours when nothing else fits. */
function isFree(block: Block | undefined): block is Block {
  return block !== undefined && (block.free || block.kept);
}

/** Blocks of this many bytes, and smaller ones, are kept at their size. */
const mostKept = 4096;

/**
 * Auto-growth best-fit allocation: the smallest free block that is large enough, the rest of it split
 * off; freed blocks join their free neighbours; a new chunk is taken only when nothing fits. Small blocks
 * are kept for the next of their size, which is most of the time the next op; they join their neighbours
 * before a new chunk is taken.
 */
export class BestFitAllocator implements Allocator {
  readonly counter: MemoryCounter;
  readonly #source: ChunkSource;
  /** Sorted by size, then address, so that the choice doesn't depend on history. */
  readonly #free: Block[] = [];
  /** Blocks allocated or kept, by address. */
  readonly #used = new Map<number, Block>();
  /** Kept blocks by their size, in units of the alignment. */
  readonly #kept: Block[][] = Array.from({ length: mostKept / alignment + 1 }, () => []);
  #last: Block | undefined;

  constructor(device: string, source: ChunkSource) {
    this.counter = new MemoryCounter(device);
    this.#source = source;
  }

  alloc(bytes: number): number {
    // An empty tensor owns no memory: address 0 is never dereferenced.
    if (bytes === 0) return 0;
    const block = this.#use(alignedBytes(bytes));
    this.counter.alloc(block.ptr, block.bytes);
    return block.ptr;
  }

  openRegion(bytes: number): Region {
    const block = this.#use(alignedBytes(bytes));
    return new Region(this, block.ptr, block.bytes);
  }

  /** For the region itself. */
  closeRegion(ptr: number): void {
    const block = this.#used.get(ptr);
    if (!block || block.kept) throw new InvariantError(`no region at address ${ptr}`);
    this.#giveBack(block);
  }

  #use(wanted: number): Block {
    if (wanted <= mostKept) {
      const kept = this.#kept[wanted / alignment]!.pop();
      if (kept) {
        kept.kept = false;
        return kept;
      }
    }
    const block = this.#take(wanted) ?? this.#takeAfterJoining(wanted) ?? this.#grow(wanted);
    if (block.bytes > wanted) this.#split(block, wanted);
    block.free = false;
    this.#used.set(block.ptr, block);
    return block;
  }

  free(ptr: number, bytes: number): void {
    if (bytes === 0) return;
    const block = this.#used.get(ptr);
    if (!block || block.kept) {
      throw new InvariantError(`free of address ${ptr}, which is not allocated`);
    }
    if (block.bytes !== alignedBytes(bytes)) {
      throw new InvariantError(`free of ${bytes} bytes of a ${block.bytes} block`);
    }
    this.counter.free(ptr, block.bytes);
    this.#giveBack(block);
  }

  freeMemory(): FreeMemory {
    let free = 0;
    let largest = 0;
    for (const block of [...this.#free, ...this.#kept.flat()]) {
      free += block.bytes;
      // Each run of free neighbours is measured from its first one.
      if (isFree(block.before)) continue;
      let run = 0;
      for (let next: Block | undefined = block; isFree(next); next = next.after) run += next.bytes;
      largest = Math.max(largest, run);
    }
    return { free, largest };
  }

  #giveBack(block: Block): void {
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

  /** Kept blocks may make room for a larger one together. */
  #takeAfterJoining(wanted: number): Block | undefined {
    for (const list of this.#kept) {
      for (const block of list) {
        block.kept = false;
        this.#release(block);
      }
      list.length = 0;
    }
    return this.#take(wanted);
  }

  #take(wanted: number): Block | undefined {
    const index = this.#position(wanted, -1);
    if (index === this.#free.length) return undefined;
    return this.#free.splice(index, 1)[0];
  }

  #grow(wanted: number): Block {
    const last = this.#last;
    const chunk = this.#source.grow(wanted);
    this.counter.reserve(chunk.bytes);
    noteGrowth(this.counter);
    const block: Block = {
      ...chunk,
      free: true,
      kept: false,
      before: undefined,
      after: undefined,
    };
    this.#last = block;
    // A chunk that continues the last one extends its free tail instead of fragmenting.
    if (last && last.ptr + last.bytes === chunk.ptr) {
      last.after = block;
      block.before = last;
      return this.#join(block);
    }
    return block;
  }

  #split(block: Block, wanted: number): void {
    const rest: Block = {
      ptr: block.ptr + wanted,
      bytes: block.bytes - wanted,
      free: true,
      kept: false,
      before: block,
      after: block.after,
    };
    if (rest.after) rest.after.before = rest;
    if (this.#last === block) this.#last = rest;
    block.after = rest;
    block.bytes = wanted;
    this.#insert(rest);
  }

  /** Joins a free block that is in no list with its free neighbours; the result is in no list. */
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

  /** First index whose block is not smaller than (bytes, ptr). */
  #position(bytes: number, ptr: number): number {
    let low = 0;
    let high = this.#free.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const block = this.#free[middle]!;
      if (block.bytes < bytes || (block.bytes === bytes && block.ptr < ptr)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
