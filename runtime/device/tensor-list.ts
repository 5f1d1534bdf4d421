import type { Device } from './device.ts';
import { Holder } from './holder.ts';

/** One element, which owns a reference to its holder. */
export interface ListItem {
  readonly holder: Holder;
  readonly offset: number;
  /** Distinguishes tensors at the same location (`scope/identity.ts`); omitted for results of ops. */
  readonly identity?: number | undefined;
  /** Distinguishes tensors that have passed through branches or loops (`run-program/scope/name.ts`). */
  readonly name?: number | undefined;
}

/**
 * The elements of an array of data-dependent length, with one reference each. It is the holder of a value of shape [0,
 * …element], so it has a live range like any other value, but no bytes of its own. In a list of gradients, null is a
 * missing gradient.
 */
export class TensorList extends Holder {
  readonly items: (ListItem | null)[] = [];

  constructor(device: Device, items: readonly (ListItem | null)[] = []) {
    super(device, 0);
    for (const item of items) this.push(item);
  }

  /** Appends an element with a new reference to its holder. */
  push(item: ListItem | null): void {
    item?.holder.retain();
    this.items.push(item);
  }

  /** Removes the last element and releases its reference. */
  pop(): void {
    this.items.pop()?.holder.release();
  }

  set(index: number, item: ListItem | null): void {
    const before = this.items[index];
    item?.holder.retain();
    this.items[index] = item;
    before?.holder.release();
  }

  protected override freed(): void {
    for (const item of this.items) item?.holder.release();
    this.items.length = 0;
    super.freed();
  }
}

/** The index of the element that an op read or wrote, and the list's length, for the op's gradient. */
export class ListMark extends Holder {
  readonly index: number;
  readonly length: number;

  constructor(device: Device, index: number, length: number) {
    super(device, 0);
    this.index = index;
    this.length = length;
  }
}
