import type { TypedArray } from '../spec/dtype.ts';
import { Holder } from './holder.ts';
import type { TensorMeta } from './tensor-meta.ts';

/** The location of a holder's bytes while its own memory is, or may be, out of date. */
export interface RemoteBytes {
  /** Copies the current bytes to the holder's address. Throws without side effects if they can't be read now. */
  land(ptr: number): void;
  /** Copies the bytes asynchronously, if `land` would throw. */
  arrive?(): Promise<void>;
  /** Reads a tensor of the holder directly from where its bytes are; without this method, they land first. */
  read?(meta: TensorMeta, offset: number): Promise<TypedArray>;
  /** Called when the bytes are no longer there: they have landed or moved, or their memory was freed. */
  leave(): void;
}

interface Kept {
  readonly ptr: number;
  at: RemoteBytes;
}

const kept = new WeakMap<Holder, Kept>();

/**
 * Marks a holder's bytes as being elsewhere. All code that reads or writes its memory first requests the address, which
 * is not an own property of such a holder; the getter makes the bytes land. So kernels check nothing, and other holders
 * have no overhead.
 */
export function keepRemote(holder: Holder, at: RemoteBytes): void {
  const known = kept.get(holder);
  if (known) {
    const before = known.at;
    known.at = at;
    before.leave();
    return;
  }
  kept.set(holder, { ptr: holder.ptr, at });
  // Reflect.deleteProperty would make it slow for good; in V8 up to Node 20, deleting and restoring the last property
  // doesn't.
  delete (holder as { ptr?: number }).ptr;
}

/** Returns where a holder's bytes are, if not in its memory. */
export const remoteBytesOf = (holder: Holder): RemoteBytes | undefined => kept.get(holder)?.at;

Object.defineProperty(Holder.prototype, 'ptr', {
  configurable: true,
  get(this: Holder): number {
    const { ptr, at } = kept.get(this)!;
    // Memory that is being freed doesn't need its bytes.
    if (this.owners > 0) at.land(ptr);
    kept.delete(this);
    Object.defineProperty(this, 'ptr', {
      value: ptr,
      writable: true,
      enumerable: true,
      configurable: true,
    });
    at.leave();
    return ptr;
  },
});

Object.defineProperty(Holder.prototype, 'elsewhere', {
  get(this: Holder): RemoteBytes | undefined {
    return remoteBytesOf(this);
  },
});
