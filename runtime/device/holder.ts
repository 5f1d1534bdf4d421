import { InvariantError } from '../errors/invariant.ts';
import { alignedBytes } from '../memory/allocator.ts';
import { poisoning } from '../memory/poison.ts';
import type { Device } from './device.ts';
import type { RemoteBytes } from './remote-bytes.ts';

/** Memory laid out by a plan or a kernel. */
export interface ArenaMemory {
  alloc: (offset: number, bytes: number) => number;
  free: (ptr: number, bytes: number) => void;
}

/**
 * One allocation on one device, reference-counted by its owners: tensor handles, saved values and scope entries.
 * The release of the last reference frees the memory immediately.
 */
export class Holder {
  readonly device: Device;
  /** The requested bytes; the allocator rounds them up. */
  readonly bytes: number;
  /** The number of in-place writes; a saved value compares it to detect changes. */
  version = 0;
  /** The number of the last search for shared inputs; see `sharedMemory`. */
  seen = 0;
  /** The number of owners that are tensor handles. */
  handles = 0;
  #owners = 1;
  readonly #region: ArenaMemory | null;
  /** The location of its bytes, if not in its memory; absent unless `elsewhere.ts` is loaded. */
  declare readonly elsewhere?: RemoteBytes | undefined;
  /** The address in the device's memory, in bytes. The last property, which `elsewhere.ts` temporarily removes. */
  readonly ptr: number;

  /** Allocates, at `offset` of a region if one is given; the caller is the first owner. Throws OutOfMemoryError. */
  constructor(device: Device, bytes: number, region: ArenaMemory | null = null, offset = 0) {
    this.device = device;
    this.bytes = bytes;
    this.#region = region;
    this.ptr = region ? region.alloc(offset, alignedBytes(bytes)) : device.allocator.alloc(bytes);
    if (poisoning.active) device.poison?.(this.ptr, bytes);
  }

  get owners(): number {
    return this.#owners;
  }

  retain(): this {
    if (this.#owners <= 0) throw new InvariantError('retain of a freed holder');
    this.#owners++;
    return this;
  }

  release(): void {
    if (this.#owners <= 0) throw new InvariantError('release of a freed holder');
    if (--this.#owners === 0) this.freed();
  }

  /** Called when the last owner is gone. */
  protected freed(): void {
    if (poisoning.active) this.device.poison?.(this.ptr, this.bytes);
    if (this.#region) this.#region.free(this.ptr, alignedBytes(this.bytes));
    else this.device.allocator.free(this.ptr, this.bytes);
  }
}
