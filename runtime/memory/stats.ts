import { events } from './events.ts';

/** Counters of one device's memory, in bytes and calls. Block sizes include alignment. */
export interface MemoryStats {
  /** Bytes in use. */
  readonly allocated: number;
  /** The most bytes in use since the last `reset`. */
  readonly peakAllocated: number;
  /** Bytes reserved from the device, used or not. */
  readonly reserved: number;
  /** The most reserved bytes since the last `reset`. */
  readonly peakReserved: number;
  /** Allocations since the last `reset`. */
  readonly allocations: number;
  /** Freed blocks since the last `reset`. */
  readonly frees: number;
  /** The total bytes of all allocations so far. */
  readonly allocatedInAll: number;
}

/**
 * While `apart`, allocations belong to check mode's reference run and are counted separately, so that the counts of the
 * user's program stay exact. A free is counted where its allocation was.
 */
export const counting = { apart: false };

/** `structuredClone()` and `postMessage()` of a tensor would copy its fields without its elements: a symbol makes them throw. */
const uncloneable = Symbol('a tensor (send await x.data() and x.shape instead)');

/** Counts one device's allocations. Always active, so it allocates nothing itself. */
export class MemoryCounter implements MemoryStats {
  allocated = 0;
  peakAllocated = 0;
  reserved = 0;
  peakReserved = 0;
  allocations = 0;
  frees = 0;
  allocatedInAll = 0;
  /** A second peak, reset at the start of a step with a memory budget. */
  highest = 0;
  /** Bytes of blocks allocated while counting apart. */
  apartAllocated = 0;
  /** Every tensor refers to its device's counter. */
  readonly uncloneable = uncloneable;
  readonly #apart = new Set<number>();
  readonly #device: string;

  constructor(device: string) {
    this.#device = device;
  }

  reserve(bytes: number): void {
    this.reserved += bytes;
    if (this.reserved > this.peakReserved) this.peakReserved = this.reserved;
    if (events.active) {
      events.emit({ kind: 'reserve', device: this.#device, bytes, reserved: this.reserved });
    }
  }

  alloc(ptr: number, bytes: number): void {
    if (counting.apart) {
      this.#apart.add(ptr);
      this.apartAllocated += bytes;
      return;
    }
    this.allocated += bytes;
    this.allocatedInAll += bytes;
    this.allocations++;
    if (this.allocated > this.peakAllocated) this.peakAllocated = this.allocated;
    if (this.allocated > this.highest) this.highest = this.allocated;
    if (events.active) this.#emit('alloc', ptr, bytes);
  }

  free(ptr: number, bytes: number): void {
    if (this.#apart.size > 0 && this.#apart.delete(ptr)) {
      this.apartAllocated -= bytes;
      return;
    }
    this.allocated -= bytes;
    this.frees++;
    if (events.active) this.#emit('free', ptr, bytes);
  }

  /** Resets peaks to the current use, and call counts to 0. */
  reset(): void {
    this.peakAllocated = this.allocated;
    this.peakReserved = this.reserved;
    this.allocations = 0;
    this.frees = 0;
    this.allocatedInAll = 0;
  }

  snapshot(): MemoryStats {
    const { allocated, peakAllocated, reserved, peakReserved, allocations, frees } = this;
    const { allocatedInAll } = this;
    return { allocated, peakAllocated, reserved, peakReserved, allocations, frees, allocatedInAll };
  }

  #emit(kind: 'alloc' | 'free', ptr: number, bytes: number): void {
    const { op } = events;
    events.emit({ kind, device: this.#device, ptr, bytes, allocated: this.allocated, op });
  }
}
