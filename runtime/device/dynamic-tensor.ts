import type { Shape } from '../spec/shape.ts';
import type { Device } from './device.ts';
import { Holder } from './holder.ts';
import type { ListItem } from './tensor-list.ts';

/**
 * A value of data-dependent shape: contiguous data, and its shape. Like a list it is a holder without
 * bytes of its own, one owner of the data, so that it lives and dies as every other value does.
 */
export class DynamicTensor extends Holder {
  readonly shape: Shape;
  #data: ListItem | null;

  /** Takes over one ownership of the data. */
  constructor(device: Device, data: ListItem, shape: Shape) {
    super(device, 0);
    this.#data = data;
    this.shape = shape;
  }

  get data(): ListItem {
    return this.#data!;
  }

  /** The ownership of the data goes to the caller; it is not read here any more. */
  surrender(): ListItem {
    const { data } = this;
    this.#data = null;
    return data;
  }

  protected override freed(): void {
    this.#data?.holder.release();
    this.#data = null;
    super.freed();
  }
}
