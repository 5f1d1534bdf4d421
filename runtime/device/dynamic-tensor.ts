import type { Shape } from '../spec/shape.ts';
import type { Device } from './device.ts';
import { Holder } from './holder.ts';
import type { ListItem } from './tensor-list.ts';

/**
 * A value of data-dependent shape: contiguous data and its shape. Like a list, it is a holder without bytes that owns a
 * reference to the data, so it has a live range like any other value.
 */
export class DynamicTensor extends Holder {
  readonly shape: Shape;
  #data: ListItem | null;

  /** Takes over one reference to the data. */
  constructor(device: Device, data: ListItem, shape: Shape) {
    super(device, 0);
    this.#data = data;
    this.shape = shape;
  }

  get data(): ListItem {
    return this.#data!;
  }

  /** Passes its reference to the data to the caller; must not be read afterwards. */
  moveOut(): ListItem {
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
