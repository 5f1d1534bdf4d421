import { DeviceError, OutOfMemoryError } from '../../../errors/errors.ts';
import { invariant } from '../../../errors/invariant.ts';
import {
  type Allocator,
  alignedBytes,
  alignment,
  type FreeMemory,
} from '../../../memory/allocator.ts';
import { noteGrowth } from '../../../memory/pressure.ts';
import { MemoryCounter } from '../../../memory/stats.ts';
import { noMemory } from './gpu-errors.ts';

/** A device's own object for a buffer. */
export interface CheckedHandle {
  /** Resolves to why the buffer could not be made, or to null; omitted where it is known to be there. */
  readonly checked?: Promise<GPUError | null>;
}

export interface BufferHandle extends CheckedHandle {
  readonly buffer: GPUBuffer;
}

/** One GPU buffer. Its address is ours alone: WebGPU shows none. */
export type PoolBuffer<H extends CheckedHandle = BufferHandle> = H & BufferState;

interface BufferState {
  readonly ptr: number;
  readonly bytes: number;
  /** Why its contents are worthless: the kernel that should have written them failed. */
  failure: Error | null;
  /** Why there is no memory behind it, whatever is written to it: it has no next owner. */
  missing: Error | null;
  /** True until WebGPU has said whether there is memory behind it. */
  unconfirmed: boolean;
}

/** Where the pool gets buffers and gives them back. */
export interface BufferSource<H extends CheckedHandle = BufferHandle> {
  readonly maxBufferBytes: number;
  /** The source of the limit, for errors. */
  readonly limitedBy: string;
  createBuffer(bytes: number): H;
  /** Called when work that was issued earlier may still use the buffer. */
  destroyBuffer(buffer: PoolBuffer<H>): void;
  /** WebGPU has said that it could not make the buffer. */
  noteMissing?(buffer: PoolBuffer<H>): void;
  /** The buffer begins another life, in the order of issue. */
  reuseBuffer(buffer: PoolBuffer<H>): void;
}

/** Idle buffers above this, and above what is in use, go back to the GPU when a new one is made. */
const keptIdleBytes = 64 * 2 ** 20;

/**
 * WebGPU can't bind parts of one buffer both to read and to write, so every allocation is a buffer of
 * its own. Freed buffers wait for an allocation of the same size; all work passes one queue in order,
 * so a buffer may have its next owner while its last one's kernels still run.
 */
export class BufferPool<H extends CheckedHandle = BufferHandle> implements Allocator {
  readonly counter: MemoryCounter;
  readonly #source: BufferSource<H>;
  readonly #used = new Map<number, PoolBuffer<H>>();
  /** By size, within a size by descending address; sizes in the order of their last use. */
  readonly #idle = new Map<number, PoolBuffer<H>[]>();
  #idleBytes = 0;
  /** Buffers get consecutive ranges of addresses; 0 is the empty tensor's. */
  #nextPtr = alignment;

  constructor(device: string, source: BufferSource<H>) {
    this.counter = new MemoryCounter(device);
    this.#source = source;
  }

  get idleBytes(): number {
    return this.#idleBytes;
  }

  alloc(bytes: number): number {
    if (bytes === 0) return 0;
    const wanted = alignedBytes(bytes);
    const buffer = this.#take(wanted) ?? this.#create(wanted);
    this.#used.set(buffer.ptr, buffer);
    this.counter.alloc(buffer.ptr, wanted);
    return buffer.ptr;
  }

  free(ptr: number, bytes: number): void {
    if (bytes === 0) return;
    const buffer = this.at(ptr);
    invariant(
      buffer.bytes === alignedBytes(bytes),
      `free of ${bytes} bytes of a ${buffer.bytes} buffer`,
    );
    this.#used.delete(ptr);
    this.counter.free(ptr, buffer.bytes);
    if (buffer.missing) {
      this.#giveUp(buffer);
      return;
    }
    this.#keep(buffer);
  }

  /** For the next allocation of its size. */
  #keep(buffer: PoolBuffer<H>): void {
    const same = this.#idle.get(buffer.bytes) ?? [];
    // A step whose buffers are idle before and after it gets the same ones each time, in whatever order they were freed.
    const next = same.findIndex(({ ptr }) => ptr < buffer.ptr);
    same.splice(next < 0 ? same.length : next, 0, buffer);
    // Last in the map: sizes that are no longer freed are evicted first.
    this.#idle.delete(buffer.bytes);
    this.#idle.set(buffer.bytes, same);
    this.#idleBytes += buffer.bytes;
  }

  reserve(sizes: readonly number[]): void {
    const taken: PoolBuffer<H>[] = [];
    try {
      for (const bytes of sizes) taken.push(this.#take(bytes) ?? this.#create(bytes));
    } finally {
      for (const buffer of taken) this.#keep(buffer);
    }
  }

  /** Runs `body` with buffers of these sizes, in bytes, and frees them after it. */
  withScratch(sizes: readonly number[], body: (buffers: readonly PoolBuffer<H>[]) => void): void {
    const ptrs: number[] = [];
    try {
      for (const bytes of sizes) ptrs.push(this.alloc(bytes));
      body(ptrs.map((ptr) => this.at(ptr)));
    } finally {
      // What was issued runs before anything that the buffers' next owners issue.
      ptrs.forEach((ptr, i) => void this.free(ptr, sizes[i]!));
    }
  }

  freeMemory(): FreeMemory {
    return { free: this.#idleBytes, largest: Math.max(0, ...this.#idle.keys()) };
  }

  /** The buffer of an allocated address. */
  at(ptr: number): PoolBuffer<H> {
    const buffer = this.#used.get(ptr);
    invariant(buffer !== undefined, `GPU address ${ptr} is not allocated`);
    return buffer;
  }

  /** Gives idle buffers back to the GPU, the longest unused sizes first, until `bytes` are left. */
  trim(bytes = 0): void {
    for (const [size, buffers] of this.#idle) {
      while (buffers.length > 0 && this.#idleBytes > bytes) {
        this.#source.destroyBuffer(buffers.shift()!);
        this.#idleBytes -= size;
        this.counter.reserve(-size);
      }
      if (buffers.length === 0) this.#idle.delete(size);
    }
  }

  #take(bytes: number): PoolBuffer<H> | undefined {
    const same = this.#idle.get(bytes);
    const buffer = same?.pop();
    if (!buffer) return undefined;
    if (same!.length === 0) this.#idle.delete(bytes);
    this.#idleBytes -= bytes;
    this.#source.reuseBuffer(buffer);
    return buffer;
  }

  #create(bytes: number): PoolBuffer<H> {
    const { maxBufferBytes: limit, limitedBy } = this.#source;
    if (bytes > limit) {
      throw new OutOfMemoryError({
        what: 'gpu: one tensor is larger than the GPU allows for a buffer',
        given: `${bytes} bytes`,
        expected: `at most ${limit} bytes (${limitedBy})`,
        remedy: 'split the tensor, use a smaller batch, or move it to the CPU device',
      });
    }
    this.trim(Math.max(keptIdleBytes, this.counter.allocated));
    const handle = this.#createHandle(bytes);
    this.counter.reserve(bytes);
    noteGrowth(this.counter);
    const ptr = this.#nextPtr;
    this.#nextPtr += bytes;
    const unconfirmed = handle.checked !== undefined;
    const state = { failure: null, missing: null, unconfirmed };
    const made: PoolBuffer<H> = { ...handle, ptr, bytes, ...state };
    void handle.checked?.then((error) => {
      made.unconfirmed = false;
      if (error) this.#noteMissing(made, error);
    });
    return made;
  }

  #createHandle(bytes: number): H {
    try {
      return this.#source.createBuffer(bytes);
    } catch (cause) {
      // Of a device that is gone.
      if (cause instanceof DeviceError) throw cause;
      throw noMemory(bytes, cause);
    }
  }

  #noteMissing(buffer: PoolBuffer<H>, cause: GPUError): void {
    buffer.missing = noMemory(buffer.bytes, cause);
    this.#source.noteMissing?.(buffer);
    const same = this.#idle.get(buffer.bytes) ?? [];
    const at = same.indexOf(buffer);
    if (at >= 0) {
      same.splice(at, 1);
      if (same.length === 0) this.#idle.delete(buffer.bytes);
      this.#idleBytes -= buffer.bytes;
      this.#giveUp(buffer);
    }
    // The idle buffers may take the memory that the next one needs.
    this.trim();
  }

  #giveUp(buffer: PoolBuffer<H>): void {
    this.#source.destroyBuffer(buffer);
    this.counter.reserve(-buffer.bytes);
  }
}
