import { heap } from '../../runtime/device/cpu/core/heap.ts';
import type { Operand } from '../../runtime/device/device.ts';
import { type Elsewhere, elsewhere, keepElsewhere } from '../../runtime/device/elsewhere.ts';
import { isContiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { events } from '../../runtime/memory/events.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import { type Arrays, bytesOf, type EngineArray, type OrtTensor } from './arrays.ts';
import { type Numbers, readAt, storeAt, typedArray } from './elements.ts';

/** The bytes of a holder in an array of the engine, until something else reads or writes them. */
class Resident implements Elsewhere {
  readonly array: EngineArray;
  /** The holder's memory has the same bytes. */
  readonly #isCopy: boolean;

  constructor(array: EngineArray, isCopy: boolean) {
    this.array = array.retain();
    this.#isCopy = isCopy;
  }

  land(ptr: number): void {
    if (this.#isCopy) return;
    const { bytes } = this.array;
    heap.u8.set(bytes, ptr);
    events.copy('onnxruntime', 'cpu', bytes.length);
  }

  leave(): void {
    this.array.release();
  }
}

/** One array can hold the bytes of the whole allocation, and nothing else. */
const isWhole = ({ holder, offset }: Operand, layout: TensorMeta): boolean =>
  offset === 0 && isContiguousMeta(layout) && bytesOf(layout) === holder!.bytes;

/** An operand of one run, and the array that the run must release; null: its memory is read in place. */
export interface Feed {
  readonly tensor: OrtTensor;
  readonly array: EngineArray | null;
}

export interface FeedOptions {
  /** The engine reads operands when it is called, and not later. */
  readonly readsAtOnce: boolean;
  /** The engine keeps a copy, as for weights that no run writes. */
  readonly isKept: boolean;
}

/** The elements of an operand: where the engine has them, or in a copy. */
export function feedOf(
  operand: Operand,
  layout: TensorMeta,
  arrays: Arrays,
  { readsAtOnce, isKept }: FeedOptions,
): Feed {
  const holder = operand.holder!;
  const { offset } = operand;
  const resident = elsewhere(holder);
  if (resident instanceof Resident) {
    const { array } = resident;
    if (isWhole(operand, layout)) {
      return { tensor: array.tensor(layout, arrays.Tensor), array: array.retain() };
    }
    if (isContiguousMeta(layout)) {
      return {
        tensor: tensorOf(arrays, layout, array.elements(layout, offset)),
        array: array.retain(),
      };
    }
  }
  const { buffer } = heap.memory;
  const address = holder.ptr + offset * dtypes[layout.dtype].bytes;
  // onnxruntime takes no views of shared memory.
  if (readsAtOnce && buffer instanceof ArrayBuffer && isContiguousMeta(layout)) {
    return { tensor: tensorOf(arrays, layout, typedArray(buffer, address, layout)), array: null };
  }
  const array = arrays.take(layout);
  readAt(buffer, address, layout, array.elements(layout));
  events.copy('cpu', 'onnxruntime', array.bytes.length);
  if (isKept && isWhole(operand, layout)) keepElsewhere(holder, new Resident(array, true));
  return { tensor: array.tensor(layout, arrays.Tensor), array };
}

const tensorOf = ({ Tensor }: Arrays, { dtype, shape }: TensorMeta, elements: Numbers): OrtTensor =>
  new Tensor(dtype, elements, shape);

/** Takes a result from the engine: the array has the bytes of its allocation, or they are copied to their place there. */
export function keepResult(operand: Operand, layout: TensorMeta, array: EngineArray): void {
  const holder = operand.holder!;
  if (isWhole(operand, layout)) {
    keepElsewhere(holder, new Resident(array, false));
    return;
  }
  const address = holder.ptr + operand.offset * dtypes[layout.dtype].bytes;
  storeAt(heap.memory.buffer, address, layout, array.elements(layout));
  events.copy('onnxruntime', 'cpu', bytesOf(layout));
}
