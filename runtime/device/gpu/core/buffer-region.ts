import { alignedBytes } from '../../../memory/allocator.ts';
import { Region, type RegionOwner } from '../../../memory/region.ts';
import type { CheckedHandle, PoolBuffer } from './buffer-pool.ts';

/** The number of cached parts of one buffer, enough for a few programs. */
const mostParts = 4096;

/** The parts of one buffer, cached so that each run of a program reuses those of the last run and their bind groups. */
export class BufferParts<H extends CheckedHandle> {
  readonly #whole: PoolBuffer<H>;
  readonly #known = new Map<string, PoolBuffer<H>>();

  constructor(whole: PoolBuffer<H>) {
    this.#whole = whole;
  }

  at(start: number, bytes: number): PoolBuffer<H> {
    const key = `${start},${bytes}`;
    let part = this.#known.get(key);
    if (!part) {
      const whole = this.#whole;
      part = {
        ...whole,
        ptr: whole.ptr + start,
        bytes,
        used: bytes,
        start,
        failure: null,
        sources: [],
        get missing() {
          return whole.missing;
        },
        get unconfirmed() {
          return whole.unconfirmed;
        },
      };
      if (this.#known.size >= mostParts) this.#known.clear();
      this.#known.set(key, part);
    }
    return part;
  }
}

interface Pool<H extends CheckedHandle> extends RegionOwner {
  use(part: PoolBuffer<H>): void;
  drop(ptr: number): void;
}

/**
 * One buffer laid out by a plan. WebGPU can't bind one buffer both as read-only and as writable in a dispatch, but
 * any number of non-overlapping writable parts: kernels therefore also declare parts that they only read as
 * writable.
 */
export class BufferRegion<H extends CheckedHandle> extends Region {
  readonly #pool: Pool<H>;
  readonly #parts: BufferParts<H>;

  constructor({ ptr, bytes }: PoolBuffer<H>, parts: BufferParts<H>, pool: Pool<H>) {
    super(pool, ptr, bytes);
    this.#pool = pool;
    this.#parts = parts;
  }

  override alloc(offset: number, bytes: number): number {
    const ptr = super.alloc(offset, bytes);
    this.#pool.use(this.#parts.at(offset, alignedBytes(bytes)));
    return ptr;
  }

  override free(ptr: number, bytes: number): void {
    this.#pool.drop(ptr);
    super.free(ptr, bytes);
  }
}
