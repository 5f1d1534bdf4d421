import { losingHistory } from '../autograd/lost-history.ts';
import type { Device } from '../device/device.ts';
import type { Holder } from '../device/holder.ts';
import { contiguousMeta } from '../device/tensor-meta.ts';
import { invariant } from '../errors/invariant.ts';
import { newHolder } from '../ops/core/eager.ts';
import { type DType, dtypes, newTypedArray, type TypedArray } from '../spec/dtype.ts';
import { contiguousStrides, extentOf, sameShape, sizeOf } from '../spec/shape.ts';
import { keep } from '../tensor/lifetime.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { DataWriter } from './file/container.ts';
import { badFile, type Field } from './file/field.ts';

export const dtypeNames = Object.keys(dtypes) as readonly DType[];

const loseHistory = losingHistory({
  what: 'backward of a loaded program',
  given: 'a tensor of its state that was a result of ops when it was saved',
  expected: 'leaves: files contain no graphs',
  remedy: 'detach() it before save()',
});

/** A limit that no real tensor exceeds. */
export const maxRank = 64;

/** A tensor in a file. Tensors with the same storage share memory. */
interface SavedTensor {
  readonly storage: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  /** The offset in the storage, in elements. */
  readonly offset: number;
  readonly requiresGrad: boolean;
  /** Whether the tensor was a result of recorded ops, which the file doesn't contain. */
  readonly isResult?: boolean;
}

interface SavedStorage {
  readonly dtype: DType;
  readonly elements: number;
  /** The offset of its bytes in the file's data. */
  readonly at: number;
}

interface SavedTensors {
  readonly storages: readonly SavedStorage[];
  readonly tensors: readonly SavedTensor[];
}

/** Collects the tensors of a file to be written, each once. Reading them waits for the device. */
export class TensorWriter {
  readonly #numbers = new Map<Tensor, number>();
  readonly #keepsLayouts: boolean;

  /** `keepsLayouts`: strided tensors keep their strides, for which plans are made; else they become contiguous. */
  constructor(keepsLayouts: boolean) {
    this.#keepsLayouts = keepsLayouts;
  }

  /** Returns the tensor's index in the file. */
  add(tensor: Tensor): number {
    tensor.holderFor('save');
    const number = this.#numbers.get(tensor) ?? this.#numbers.size;
    this.#numbers.set(tensor, number);
    return number;
  }

  async write(data: DataWriter): Promise<SavedTensors> {
    const storages: SavedStorage[] = [];
    const added = [...this.#numbers.keys()];
    const shared = sharedHolders(added);
    const known = new Map<Holder, number>();
    const tensors: SavedTensor[] = [];
    for (const tensor of added) {
      const { holder, shape, strides, offset, requiresGrad, isLeaf } = tensor;
      const whole = holder && shared.has(holder) ? wholeOf(tensor) : null;
      const isUsual = sameShape(strides, contiguousStrides(shape));
      const part = !whole && this.#keepsLayouts && !isUsual ? partOf(tensor) : null;
      let storage = whole ? known.get(holder!) : undefined;
      if (storage === undefined) {
        const source = whole ?? part ?? tensor;
        const values = await source.data();
        storage = storages.length;
        storages.push({
          dtype: tensor.dtype,
          elements: values.length,
          at: data.add(bytesOf(values)),
        });
        if (whole) known.set(holder!, storage);
      }
      whole?.dispose();
      part?.dispose();
      const place =
        whole || part
          ? { strides: [...strides], offset: whole ? offset : 0 }
          : { strides: contiguousStrides(shape), offset: 0 };
      const history = isLeaf ? {} : { isResult: true };
      tensors.push({ storage, shape: [...shape], ...place, requiresGrad, ...history });
    }
    return { storages, tensors };
  }
}

/** Returns the holders that several of the tensors share. */
function sharedHolders(tensors: readonly Tensor[]): ReadonlySet<Holder> {
  const seen = new Set<Holder>();
  const shared = new Set<Holder>();
  for (const { holder } of tensors) {
    if (!holder) continue;
    if (seen.has(holder)) shared.add(holder);
    seen.add(holder);
  }
  return shared;
}

/** Returns all of the tensor's memory as a vector. */
function wholeOf({ holder, dtype, device }: Tensor): Tensor {
  invariant(holder, 'a tensor with memory');
  const elements = holder.bytes / device.elementBytes(dtype);
  return new Tensor(contiguousMeta({ dtype, shape: [elements] }, device), holder.retain());
}

/** Returns the memory from the tensor's first element to its last as a vector. */
function partOf({ holder, dtype, device, shape, strides, offset }: Tensor): Tensor | null {
  if (!holder || sizeOf(shape) === 0) return null;
  const meta = contiguousMeta({ dtype, shape: [extentOf(shape, strides)] }, device);
  return new Tensor({ ...meta, offset }, holder.retain());
}

function bytesOf({ buffer, byteOffset, byteLength }: TypedArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Creates the tensors of a file on a device on request. They never take more memory than the file has bytes. */
export class TensorReader {
  readonly #data: Uint8Array;
  readonly #device: Device;
  readonly #storages: readonly SavedStorage[];
  readonly #tensors: readonly SavedTensor[];
  readonly #bases = new Map<number, Tensor>();
  readonly #made = new Map<number, Tensor>();

  constructor(field: Field, data: Uint8Array, device: Device) {
    this.#data = data;
    this.#device = device;
    this.#storages = readStorages(field.get('storages'), data);
    const tensors = field.get('tensors').items();
    this.#tensors = tensors.map((tensor) => readTensor(tensor, this.#storages));
  }

  /** Returns the tensor whose index is in the field. */
  read(field: Field): Tensor {
    const index = field.int(0, this.#tensors.length - 1);
    const tensor = this.#made.get(index) ?? this.#make(this.#tensors[index]!);
    this.#made.set(index, tensor);
    return tensor;
  }

  #make({ storage, requiresGrad, isResult, ...place }: SavedTensor): Tensor {
    const base =
      this.#bases.get(storage) ?? upload(this.#storages[storage]!, this.#data, this.#device);
    this.#bases.set(storage, base);
    const { dtype, holder, device } = base;
    const tensor = keep(new Tensor({ dtype, device, ...place }, holder!.retain()));
    if (isResult) loseHistory(tensor, []);
    return requiresGrad && !isResult ? tensor.requiresGrad_() : tensor;
  }

  /** Ends reading. */
  close(): void {
    for (const base of this.#bases.values()) base.dispose();
  }

  /** Frees all tensors created so far. */
  disposeAll(): void {
    for (const tensor of this.#made.values()) tensor.dispose();
  }
}

function readStorages(field: Field, data: Uint8Array): SavedStorage[] {
  let end = 0;
  return field.items().map((storage) => {
    const dtype = storage.get('dtype').oneOf(dtypeNames);
    const elements = storage.get('elements').int(0, data.length);
    const bytes = elements * dtypes[dtype].bytes;
    const at = storage.get('at').int(end, data.length);
    if (at + bytes > data.length) {
      throw badFile(storage.path, `${bytes} bytes at ${at} of ${data.length}`, 'data in the file');
    }
    end = at + bytes;
    return { dtype, elements, at };
  });
}

function readTensor(field: Field, storages: readonly SavedStorage[]): SavedTensor {
  const storage = field.get('storage').int(0, storages.length - 1);
  const { elements, dtype } = storages[storage]!;
  const dims = field.get('shape').items();
  if (dims.length > maxRank) field.fail(`at most ${maxRank} dimensions`);
  const shape = dims.map((dim) => dim.int());
  // A product of sizes beyond exact integers could round to a smaller one.
  const count = shape.reduce((product, size) => product * Math.max(size, 1), 8);
  if (!Number.isSafeInteger(count)) field.get('shape').fail('a shape that can be counted');
  const strides = field.list('strides', (stride) => stride.int(), shape.length);
  const offset = field.get('offset').int(0, elements);
  const last = shape.reduce((sum, size, d) => sum + Math.max(size - 1, 0) * strides[d]!, offset);
  const isEmpty = shape.includes(0);
  if (!isEmpty && !(last < elements)) {
    throw badFile(field.path, `element ${last} of ${elements}`, 'a tensor inside its storage');
  }
  const requiresGrad = field.get('requiresGrad').boolean();
  if (requiresGrad && !dtypes[dtype].floating) field.fail('a gradient of floating numbers only');
  const isResult = requiresGrad && field.has('isResult') && field.get('isResult').boolean();
  return { storage, shape, strides, offset, requiresGrad, isResult };
}

function upload({ dtype, elements, at }: SavedStorage, data: Uint8Array, device: Device): Tensor {
  const values = newTypedArray(dtype, elements);
  bytesOf(values).set(data.subarray(at, at + values.byteLength));
  // Kernels assume that booleans are 0 or 1.
  if (dtype === 'bool' && values.some((value) => value > 1)) {
    throw badFile('a storage of booleans', 'a byte above 1', '0 or 1');
  }
  const meta = contiguousMeta({ dtype, shape: [elements] }, device);
  const tensor = new Tensor(meta, newHolder(device, dtype, [elements]));
  device.upload(values, meta, tensor);
  return tensor;
}
