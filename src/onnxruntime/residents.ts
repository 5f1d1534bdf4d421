import { heap } from '../../runtime/device/cpu/core/heap.ts';
import type { Operand } from '../../runtime/device/device.ts';
import type { Holder } from '../../runtime/device/holder.ts';
import { keepRemote, type RemoteBytes, remoteBytesOf } from '../../runtime/device/remote-bytes.ts';
import { isContiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { DeviceError } from '../../runtime/errors/errors.ts';
import { events } from '../../runtime/memory/events.ts';
import { dtypes, newTypedArray, type TypedArray } from '../../runtime/spec/dtype.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import {
  type Arrays,
  bytesOf,
  type EngineArray,
  GpuArray,
  HostArray,
  type OrtTensor,
} from './arrays.ts';
import { type Numbers, readAt, storeAt, typedArray } from './elements.ts';

/** The bytes of a holder in one of the engine's arrays, until something else reads or writes them. */
class Resident implements RemoteBytes {
  readonly array: HostArray;
  /** Whether the holder's memory has the same bytes. */
  readonly #isCopy: boolean;

  constructor(array: HostArray, isCopy: boolean) {
    this.array = array.retain();
    this.#isCopy = isCopy;
  }

  land(ptr: number): void {
    if (!this.#isCopy) landBytes(this.array, ptr);
  }

  leave(): void {
    this.array.release();
  }
}

function landBytes({ bytes }: HostArray, ptr: number): void {
  heap.u8.set(bytes, ptr);
  events.copy('onnxruntime', 'cpu', bytes.length);
}

/** The bytes of a holder in a buffer of the engine's GPU. */
class GpuResident implements RemoteBytes {
  readonly array: GpuArray;
  readonly #holder: Holder;
  readonly #arrays: Arrays;

  constructor(array: GpuArray, holder: Holder, arrays: Arrays) {
    this.array = array.retain();
    this.#holder = holder;
    this.#arrays = arrays;
    arrays.distant.add(this);
  }

  land(ptr: number): void {
    const { arrived } = this.array;
    if (!arrived) throw notHere();
    landBytes(arrived, ptr);
  }

  leave(): void {
    this.#arrays.distant.delete(this);
    this.array.release();
  }

  /** Copies the bytes to the holder's memory, unless they were replaced meanwhile. */
  async arrive(): Promise<void> {
    await this.array.read(this.#arrays);
    // Reading the address stores the bytes there.
    if (remoteBytesOf(this.#holder) === this) void this.#holder.ptr;
  }

  async read(meta: TensorMeta, offset: number): Promise<TypedArray> {
    const { bytes } = await this.array.read(this.#arrays);
    const values = newTypedArray(meta.dtype, sizeOf(meta.shape));
    const at = bytes.byteOffset + offset * dtypes[meta.dtype].bytes;
    readAt(bytes.buffer, at, meta, values as Numbers);
    events.copy('onnxruntime', 'host', values.byteLength);
    return values;
  }
}

function notHere(): DeviceError {
  return new DeviceError({
    what: 'the elements of a tensor are in a GPU buffer of onnxruntime-web',
    given: 'a use that cannot wait for them, such as an eager op or dataSync()',
    expected: 'await x.data() or await x.item()',
    remedy:
      "await the backend's land() before, which brings all of them to the tensors' own memory",
  });
}

/** Copies the bytes of an operand to its memory; null if they are not on a GPU. */
export function arrivalOf({ holder }: Operand): Promise<void> | null {
  const resident = holder && remoteBytesOf(holder);
  return resident instanceof GpuResident ? resident.arrive() : null;
}

/** Whether the value's bytes are the whole allocation, so that one array can hold exactly them. */
export const isWhole = ({ holder, offset }: Operand, layout: TensorMeta): boolean =>
  offset === 0 && isContiguousMeta(layout) && bytesOf(layout) === holder!.bytes;

/** An operand of one run, and the array that the run must release; null if its memory is read in place. */
interface Feed {
  readonly tensor: OrtTensor;
  readonly array: EngineArray | null;
}

interface FeedOptions {
  /** Whether the engine reads operands during the call, and not later. */
  readonly readsAtOnce: boolean;
  /** Whether the engine caches a copy, as for weights that no run writes. */
  readonly isKept: boolean;
}

/** Returns the elements of an operand: in an array that the engine already has, or a copy. */
export function feedOf(
  operand: Operand,
  layout: TensorMeta,
  arrays: Arrays,
  { readsAtOnce, isKept }: FeedOptions,
): Feed {
  const holder = operand.holder!;
  const { offset } = operand;
  const resident = remoteBytesOf(holder);
  if (resident instanceof Resident || resident instanceof GpuResident) {
    const { array } = resident;
    if (isWhole(operand, layout)) {
      return { tensor: array.tensor(layout, arrays.Tensor), array: array.retain() };
    }
    if (array instanceof HostArray && isContiguousMeta(layout)) {
      return {
        tensor: tensorOf(arrays, layout, array.elements(layout, offset)),
        array: array.retain(),
      };
    }
  }
  const { buffer } = heap.memory;
  const address = holder.ptr + offset * dtypes[layout.dtype].bytes;
  // onnxruntime rejects views of shared memory.
  if (readsAtOnce && buffer instanceof ArrayBuffer && isContiguousMeta(layout)) {
    return { tensor: tensorOf(arrays, layout, typedArray(buffer, address, layout)), array: null };
  }
  const array = arrays.take(layout);
  readAt(buffer, address, layout, array.elements(layout));
  events.copy('cpu', 'onnxruntime', array.bytes.length);
  if (isKept && isWhole(operand, layout)) keepRemote(holder, new Resident(array, true));
  return { tensor: array.tensor(layout, arrays.Tensor), array };
}

const tensorOf = ({ Tensor }: Arrays, { dtype, shape }: TensorMeta, elements: Numbers): OrtTensor =>
  new Tensor(dtype, elements, shape);

/**
 * Receives a result from the engine: the array becomes its allocation's memory, or its bytes are copied there. If only
 * a part of the allocation is written, both must have arrived.
 */
export function keepResult(
  operand: Operand,
  layout: TensorMeta,
  array: EngineArray,
  arrays: Arrays,
): void {
  const holder = operand.holder!;
  if (isWhole(operand, layout)) {
    keepRemote(holder, residentOf(array, holder, arrays));
    return;
  }
  const host = array instanceof GpuArray ? array.arrived! : (array as HostArray);
  const address = holder.ptr + operand.offset * dtypes[layout.dtype].bytes;
  storeAt(heap.memory.buffer, address, layout, host.elements(layout));
  events.copy('onnxruntime', 'cpu', bytesOf(layout));
}

const residentOf = (array: EngineArray, holder: Holder, arrays: Arrays): RemoteBytes =>
  array instanceof GpuArray
    ? new GpuResident(array, holder, arrays)
    : new Resident(array as HostArray, false);
