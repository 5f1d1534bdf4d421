import type { Device } from './device.ts';
import { Holder } from './holder.ts';

/** One element: an owner of its holder. */
export interface ListItem {
  readonly holder: Holder;
  readonly offset: number;
  /** Tells tensors at one place apart (`run-program/identity.ts`); omitted where an op has made it. */
  readonly identity?: number | undefined;
  /** Tells tensors apart that have gone through branches or loops (`run-program/scope/name.ts`). */
  readonly name?: number | undefined;
}

/**
 * The elements of an array of data-dependent length, one owner of each. It is the holder of a
 * value of shape [0, …element], without bytes of its own, so that it lives and dies as every other value
 * does. In the list of the elements' gradients a null represents one that is missing.
 */
export class TensorList extends Holder {
  readonly items: (ListItem | null)[] = [];

  constructor(device: Device, items: readonly (ListItem | null)[] = []) {
    super(device, 0);
    for (const item of items) this.push(item);
  }

  /** One more owner of the element. */
  push(item: ListItem | null): void {
    item?.holder.retain();
    this.items.push(item);
  }

  /** The last element leaves; its ownership is released. */
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

/** The index of the element that an op has read or written and the length of its list, for the op's gradient. */
export class ListMark extends Holder {
  readonly index: number;
  readonly length: number;

  constructor(device: Device, index: number, length: number) {
    super(device, 0);
    this.index = index;
    this.length = length;
  }
}
