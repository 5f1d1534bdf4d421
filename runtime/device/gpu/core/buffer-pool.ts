import { DeviceError, OutOfMemoryError } from '../../../errors/errors.ts';
import { invariant } from '../../../errors/invariant.ts';
import { notedPosition } from '../../../errors/position.ts';
import {
  type Allocator,
  alignedBytes,
  alignment,
  type FreeMemory,
  type RegionLimits,
} from '../../../memory/allocator.ts';
import { events } from '../../../memory/events.ts';
import { noteGrowth } from '../../../memory/pressure.ts';
import type { Region } from '../../../memory/region.ts';
import { MemoryCounter } from '../../../memory/stats.ts';
import { BufferParts, BufferRegion } from './buffer-region.ts';
import { noMemory } from './gpu-errors.ts';

/** A device's handle to a buffer. */
export interface CheckedHandle {
  /** Resolves to the reason why the buffer could not be created, or to null; omitted if it is known to exist. */
  readonly checked?: Promise<GPUError | null>;
}

export interface BufferHandle extends CheckedHandle {
  readonly buffer: GPUBuffer;
}

/** One GPU buffer. Its address is virtual, because WebGPU exposes none. */
export type PoolBuffer<H extends CheckedHandle = BufferHandle> = H & BufferState;

/** A buffer whose creation WebGPU may still report as failed. */
type MadeBuffer<H extends CheckedHandle> = H & {
  -readonly [K in keyof BufferState]: BufferState[K];
};

/** Returns the state of a buffer with this handle, assuming that it has memory. */
export function bufferAt<H extends CheckedHandle>(
  handle: H,
  ptr: number,
  bytes: number,
): MadeBuffer<H> {
  const contents = { failure: null, missing: null, unconfirmed: false, sources: [] };
  return { ...handle, ptr, bytes, used: bytes, start: 0, ...contents };
}

interface BufferState {
  readonly ptr: number;
  readonly bytes: number;
  /** The requested bytes, which a tensor overwrites to replace its contents. */
  used: number;
  /** The start in the device's buffer, in bytes; nonzero for parts of a region. */
  readonly start: number;
  /** The error that invalidates its contents: the kernel that should have written them failed. */
  failure: Error | null;
  /** The error if it has no memory; such a buffer is never reused. */
  readonly missing: Error | null;
  /** Whether WebGPU has yet to confirm that it has memory. */
  readonly unconfirmed: boolean;
  /** Buffers that its contents were computed from while those were unconfirmed. */
  sources: readonly Pick<BufferState, 'missing' | 'unconfirmed'>[];
}

/** Creates and destroys buffers for the pool. */
export interface BufferSource<H extends CheckedHandle = BufferHandle> {
  readonly maxBufferBytes: number;
  /** The source of the limit, for errors. */
  readonly limitedBy: string;
  /** The alignment of buffer parts that kernels bind; if omitted, kernels bind whole buffers. */
  readonly partAlignment?: number;
  createBuffer(bytes: number): H;
  /** May be called while previously issued work still uses the buffer. */
  destroyBuffer(buffer: PoolBuffer<H>): void;
  /** Called when WebGPU reports that it could not create the buffer. */
  noteMissing?(buffer: PoolBuffer<H>): void;
  /** Called when the buffer is reused, in the order of issue. */
  reuseBuffer(buffer: PoolBuffer<H>): void;
}

/** Idle buffers beyond this, and beyond the bytes in use, are destroyed when a new one is created. */
const keptIdleBytes = 64 * 2 ** 20;

/**
 * Allocates a separate buffer each time, except in regions laid out by plans. Freed buffers wait for an allocation
 * of the same size. All work passes through one queue in order, so a buffer may be reused while kernels of its
 * last owner are still running.
 */
export class BufferPool<H extends CheckedHandle = BufferHandle> implements Allocator {
  readonly counter: MemoryCounter;
  /** Undefined if kernels bind whole buffers. */
  readonly openRegion?: (bytes: number) => Region;
  readonly regionLimits?: RegionLimits;
  readonly #source: BufferSource<H>;
  readonly #used = new Map<number, PoolBuffer<H>>();
  /** Idle buffers by size, in descending address order; sizes in the order of their last use. */
  readonly #idle = new Map<number, PoolBuffer<H>[]>();
  #idleBytes = 0;
  /** The parts of regions in each buffer. */
  readonly #parts = new WeakMap<PoolBuffer<H>, BufferParts<H>>();
  /** Buffers get consecutive address ranges; 0 is the empty tensor's. */
  #nextPtr = alignment;

  constructor(device: string, source: BufferSource<H>) {
    this.counter = new MemoryCounter(device);
    this.#source = source;
    const { partAlignment, maxBufferBytes } = source;
    if (partAlignment === undefined) return;
    this.regionLimits = { alignment: partAlignment, mostBytes: maxBufferBytes };
    this.openRegion = (bytes) => this.#openRegion(bytes);
  }

  get idleBytes(): number {
    return this.#idleBytes;
  }

  alloc(bytes: number): number {
    if (bytes === 0) return 0;
    const size = alignedBytes(bytes);
    const buffer = this.#take(size) ?? this.#create(size);
    buffer.used = bytes;
    this.#used.set(buffer.ptr, buffer);
    this.counter.alloc(buffer.ptr, size);
    return buffer.ptr;
  }

  #openRegion(bytes: number): Region {
    const size = alignedBytes(bytes);
    const whole = this.#take(size) ?? this.#create(size);
    let parts = this.#parts.get(whole);
    if (!parts) {
      parts = new BufferParts(whole);
      this.#parts.set(whole, parts);
    }
    return new BufferRegion(whole, parts, {
      counter: this.counter,
      use: (part) => {
        this.#used.set(part.ptr, part);
        this.#source.reuseBuffer(part);
      },
      drop: (ptr) => this.#used.delete(ptr),
      closeRegion: () => this.#putBack(whole),
    });
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
    this.#putBack(buffer);
  }

  #putBack(buffer: PoolBuffer<H>): void {
    if (buffer.missing) this.#giveUp(buffer);
    else this.#keep(buffer);
  }

  /** Keeps a buffer for the next allocation of its size. */
  #keep(buffer: PoolBuffer<H>): void {
    const same = this.#idle.get(buffer.bytes) ?? [];
    // Sorted, so that a step gets the same buffers each time, in whatever order they were freed.
    const next = same.findIndex(({ ptr }) => ptr < buffer.ptr);
    same.splice(next < 0 ? same.length : next, 0, buffer);
    // Moves the size to the end of the map: sizes that are no longer freed are evicted first.
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

  /** Runs `body` with buffers of these sizes, in bytes, and frees them afterwards. */
  withScratch(sizes: readonly number[], body: (buffers: readonly PoolBuffer<H>[]) => void): void {
    const ptrs: number[] = [];
    try {
      for (const bytes of sizes) ptrs.push(this.alloc(bytes));
      body(ptrs.map((ptr) => this.at(ptr)));
    } finally {
      // The issued work runs before any work of the buffers' next owners.
      ptrs.forEach((ptr, i) => void this.free(ptr, sizes[i]!));
    }
  }

  freeMemory(): FreeMemory {
    return { free: this.#idleBytes, largest: Math.max(0, ...this.#idle.keys()) };
  }

  /** Returns the buffer at an allocated address. */
  at(ptr: number): PoolBuffer<H> {
    const buffer = this.#used.get(ptr);
    invariant(buffer !== undefined, `GPU address ${ptr} is not allocated`);
    return buffer;
  }

  /** Destroys idle buffers, least recently used sizes first, until `bytes` are left. */
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
    const buffer = bufferAt(handle, ptr, bytes);
    buffer.unconfirmed = handle.checked !== undefined;
    const { op, at } = events;
    const position = notedPosition();
    void handle.checked?.then((error) => {
      buffer.unconfirmed = false;
      if (error) this.#noteMissing(buffer, noMemory(bytes, error, { op, at: at ?? position() }));
    });
    return buffer;
  }

  #createHandle(bytes: number): H {
    try {
      return this.#source.createBuffer(bytes);
    } catch (cause) {
      // The device is gone.
      if (cause instanceof DeviceError) throw cause;
      throw noMemory(bytes, cause);
    }
  }

  #noteMissing(buffer: MadeBuffer<H>, error: Error): void {
    buffer.missing = error;
    this.#source.noteMissing?.(buffer);
    const same = this.#idle.get(buffer.bytes) ?? [];
    const at = same.indexOf(buffer);
    if (at >= 0) {
      same.splice(at, 1);
      if (same.length === 0) this.#idle.delete(buffer.bytes);
      this.#idleBytes -= buffer.bytes;
      this.#giveUp(buffer);
    }
    // Idle buffers may occupy the memory needed.
    this.trim();
  }

  #giveUp(buffer: PoolBuffer<H>): void {
    this.#source.destroyBuffer(buffer);
    this.counter.reserve(-buffer.bytes);
  }
}
