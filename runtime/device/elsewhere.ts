import type { TypedArray } from '../spec/dtype.ts';
import { Holder } from './holder.ts';
import type { TensorMeta } from './tensor-meta.ts';

/** Where the bytes of a holder are while its own memory is out of date, or might be. */
export interface Elsewhere {
  /** Puts the current bytes at the holder's address. Throws, and changes nothing, where they are only read later. */
  land(ptr: number): void;
  /** Lands later, where `land` alone would throw. */
  arrive?(): Promise<void>;
  /** Reads a tensor of the holder where its bytes are; absent: they land for it. */
  read?(meta: TensorMeta, offset: number): Promise<TypedArray>;
  /** The holder's bytes are not there any more: they have landed, lie in another place, or their memory was freed. */
  leave(): void;
}

interface Kept {
  readonly ptr: number;
  at: Elsewhere;
}

const kept = new WeakMap<Holder, Kept>();

/**
 * Says that the bytes of a holder are elsewhere from now on. Whatever reads or writes its memory asks for its address
 * first, and then the bytes land: the address is no property of such a holder, and is looked up here. So kernels check
 * nothing, and holders whose bytes are in their memory never come here.
 */
export function keepElsewhere(holder: Holder, at: Elsewhere): void {
  const known = kept.get(holder);
  if (known) {
    const before = known.at;
    known.at = at;
    before.leave();
    return;
  }
  kept.set(holder, { ptr: holder.ptr, at });
  // Reflect.deleteProperty would make a slow object of it for good. The last property goes and comes back without a trace.
  delete (holder as { ptr?: number }).ptr;
}

/** Where the bytes of a holder are, if not in its memory. */
export const elsewhere = (holder: Holder): Elsewhere | undefined => kept.get(holder)?.at;

Object.defineProperty(Holder.prototype, 'ptr', {
  configurable: true,
  get(this: Holder): number {
    const { ptr, at } = kept.get(this)!;
    // Memory that is being freed needs no bytes.
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
  get(this: Holder): Elsewhere | undefined {
    return elsewhere(this);
  },
});
