import type { Launch } from '../../device/device.ts';
import { DynamicTensor } from '../../device/dynamic-tensor.ts';
import { Holder } from '../../device/holder.ts';
import { type ListItem, TensorList } from '../../device/tensor-list.ts';
import { contiguousMeta, type TensorMeta } from '../../device/tensor-meta.ts';
import { events } from '../../memory/events.ts';
import { addOp } from '../../ops/arithmetic/arithmetic.ts';
import { fullOp } from '../../ops/movement/create.ts';
import { elementSpec } from '../../program/list-ops.ts';
import { sizeOf } from '../../spec/shape.ts';
import { Slot } from '../scope/scope.ts';

/** Fills slots of one meta with a constant. */
export class Filled {
  readonly #meta: TensorMeta;
  readonly #value: number;
  readonly #bytes: number;
  #launch: Launch | null = null;

  constructor(meta: TensorMeta, value: number) {
    this.#meta = meta;
    this.#value = value;
    this.#bytes = sizeOf(meta.shape) * meta.device.elementBytes(meta.dtype);
  }

  /** Allocates memory that only the slot owns. */
  fill(slot: Slot): void {
    const { shape, dtype, device } = this.#meta;
    const attrs = { shape, dtype, value: this.#value };
    this.#launch ??= device.prepare(fullOp, [], [this.#meta], attrs);
    slot.put(new Holder(device, this.#bytes), 0);
    this.#launch([], [slot]);
    events.kernel(device.name, 'full');
  }
}

function isList(slot: Slot): boolean {
  return slot.holder instanceof TensorList;
}

function isDynamic(slot: Slot): boolean {
  return slot.holder instanceof DynamicTensor;
}

/** Returns a slot with a new reference to the element. */
function slotOf({ holder, offset }: ListItem): Slot {
  const slot = new Slot();
  slot.put(holder.retain(), offset);
  return slot;
}

/** Accumulates the gradients of one operand. */
export class GradientSum {
  readonly #meta: TensorMeta;
  readonly #sum = new Slot();
  #add: Launch | null = null;

  constructor(meta: TensorMeta) {
    this.#meta = meta;
  }

  /** Adds a contribution unless it is missing. The first one is kept unchanged; later ones are added to it. */
  add(part: Slot): void {
    if (!part.holder) return;
    const sum = this.#sum;
    if (!sum.holder) {
      sum.put(part.holder.retain(), part.offset);
      return;
    }
    if (isList(sum)) {
      this.#addList(part);
      return;
    }
    if (isDynamic(sum) || isDynamic(part)) {
      this.#addDynamic(part);
      return;
    }
    this.#addTensor(sum, part, this.#meta);
  }

  /** Adds element by element. */
  #addList(part: Slot): void {
    const sum = this.#sum;
    const [before, more] = [sum.holder as TensorList, part.holder as TensorList];
    const { device } = this.#meta;
    const total = new TensorList(device, before.items);
    const element = contiguousMeta(elementSpec(this.#meta), device);
    more.items.forEach((item, i) => {
      const earlier = total.items[i];
      if (!item) return;
      if (!earlier) {
        total.set(i, item);
        return;
      }
      const [a, b] = [slotOf(earlier), slotOf(item)];
      this.#addItem(a, b, element);
      total.set(i, { holder: a.holder!, offset: a.offset });
      a.release();
      b.release();
    });
    sum.release();
    sum.put(total, 0);
  }

  /** Adds two elements, which may themselves be lists. */
  #addItem(sum: Slot, part: Slot, meta: TensorMeta): void {
    if (!isList(sum) && !isList(part)) {
      this.#addTensor(sum, part, meta);
      return;
    }
    const inner = emptySum(meta);
    inner.add(sum);
    inner.add(part);
    sum.release();
    inner.moveTo(sum);
  }

  /** Adds gradients of data-dependent shape; a contribution without such a shape is all zeros. */
  #addDynamic(part: Slot): void {
    const sum = this.#sum;
    if (!isDynamic(part)) return;
    if (!isDynamic(sum)) {
      sum.release();
      sum.put(part.holder!.retain(), 0);
      return;
    }
    const [before, more] = [sum.holder as DynamicTensor, part.holder as DynamicTensor];
    const { device, dtype } = this.#meta;
    const { shape } = before;
    // The kernel was bound to the shape of another run.
    this.#add = null;
    const [a, b] = [slotOf(before.data), slotOf(more.data)];
    this.#addTensor(a, b, contiguousMeta({ dtype, shape }, device));
    this.#add = null;
    b.release();
    sum.release();
    sum.put(new DynamicTensor(device, { holder: a.holder!, offset: a.offset }, shape), 0);
  }

  #addTensor(sum: Slot, part: Slot, meta: TensorMeta): void {
    const { device } = meta;
    this.#add ??= device.prepare(addOp, [meta, meta], [meta], {});
    // If the first term has other readers, the sum gets its own memory.
    const alone = sum.holder!.owners === 1;
    const target = alone ? sum : new Slot();
    const bytes = sizeOf(meta.shape) * device.elementBytes(meta.dtype);
    if (!alone) target.put(new Holder(device, bytes), 0);
    this.#add([sum, part], [target]);
    events.kernel(device.name, 'add');
    if (alone) return;
    sum.release();
    sum.put(target.holder!, target.offset);
  }

  /** The sum so far; a region that adds its own contributions takes over the reference. */
  get slot(): Slot {
    return this.#sum;
  }

  /** Starts from the value in a slot; takes the slot's reference if it `moves`. */
  startFrom(slot: Slot, moves: boolean): void {
    const { holder, offset } = slot;
    if (!holder) return;
    this.#sum.put(moves ? holder : holder.retain(), offset);
    if (moves) slot.holder = null;
  }

  /** Moves the sum to a slot, which stays empty if there were no contributions. */
  moveTo(slot: Slot): void {
    const { holder, offset } = this.#sum;
    if (!holder) return;
    slot.put(holder, offset);
    this.#sum.holder = null;
  }

  release(): void {
    this.#sum.release();
  }
}

/** Outside the class: compiling a class that refers to itself adds a statement, which bundlers keep. */
function emptySum(meta: TensorMeta): GradientSum {
  return new GradientSum(meta);
}
