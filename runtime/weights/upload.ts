import { noGrad } from '../autograd/grad-mode.ts';
import type { Device } from '../device/device.ts';
import { contiguousMeta, isContiguousMeta } from '../device/tensor-meta.ts';
import { newHolder } from '../ops/core/eager.ts';
import { copy_ } from '../ops/in-place/in-place.ts';
import { newTypedArray, type TypedArray } from '../spec/dtype.ts';
import { contiguousStrides, sizeOf } from '../spec/shape.ts';
import { Tensor } from '../tensor/tensor.ts';
import { convertElements, decodeElements, elementTypes } from './element-type.ts';
import type { StoredTensor } from './weight.ts';

/** The number of file bytes in memory at once during an upload. */
const chunkBytes = 4 * 2 ** 20;

/** Creates a tensor on the device, with the file's dtype. */
export async function uploadNew(stored: StoredTensor, device: Device): Promise<Tensor> {
  const { dtype } = elementTypes[stored.type];
  // Throws DTypeError if the device doesn't support the dtype, before any memory is allocated.
  device.elementBytes(dtype);
  const meta = contiguousMeta({ dtype, shape: [...stored.shape] }, device);
  const tensor = new Tensor(meta, newHolder(device, dtype, stored.shape));
  try {
    await uploadInto(stored, tensor);
  } catch (error) {
    tensor.dispose();
    throw error;
  }
  return tensor;
}

/** Writes the data into the tensor's own memory in chunks, without other memory on its device. Shapes are equal. */
export async function uploadInto(stored: StoredTensor, target: Tensor): Promise<void> {
  if (!isContiguousMeta(target)) {
    const copy = await uploadNew(stored, target.device);
    noGrad(() => void copy_(target, copy));
    copy.dispose();
    return;
  }
  if (target.device.kind === 'meta') return;
  const { device, dtype, offset } = target;
  for await (const { values, at } of chunksOf(stored)) {
    const converted = convertElements(values, elementTypes[stored.type].dtype, dtype);
    const meta = contiguousMeta({ dtype, shape: [converted.length] }, device);
    const holder = target.holderFor('loading weights');
    device.upload(converted, meta, { holder, offset: offset + at });
  }
  // Marks values that backward has saved of the tensor as changed.
  target.holderFor('loading weights').version++;
}

interface Chunk {
  readonly values: TypedArray;
  /** The index of the first element, in row-major order. */
  readonly at: number;
}

/** Yields the elements in row-major order. */
async function* chunksOf(stored: StoredTensor): AsyncGenerator<Chunk> {
  const { type, shape, layout, littleEndian } = stored;
  const each = elementTypes[type].bytes;
  const count = sizeOf(shape);
  if (count === 0) return;
  const usual = layout && sameOrder(layout.strides, shape) ? { first: layout.offset } : null;
  if (layout && !usual) {
    yield { values: gathered(await wholeStorage(stored), stored, layout), at: 0 };
    return;
  }
  const begin = usual?.first ?? 0;
  const perChunk = chunkBytes / each;
  for (let at = 0; at < count; at += perChunk) {
    const length = Math.min(perChunk, count - at);
    const bytes = await stored.read((begin + at) * each, length * each);
    yield { values: decodeElements(bytes, type, littleEndian), at };
  }
}

/** Strides of dimensions of size 1 are irrelevant. */
function sameOrder(strides: readonly number[], shape: readonly number[]): boolean {
  const usual = contiguousStrides(shape);
  return shape.every((size, d) => size === 1 || strides[d] === usual[d]);
}

async function wholeStorage({ read, bytes, type, littleEndian }: StoredTensor) {
  return decodeElements(await read(0, bytes), type, littleEndian);
}

function gathered(
  storage: TypedArray,
  { type, shape }: StoredTensor,
  { strides, offset }: { readonly strides: readonly number[]; readonly offset: number },
): TypedArray {
  const values = newTypedArray(elementTypes[type].dtype, sizeOf(shape));
  const index = shape.map(() => 0);
  let from = offset;
  for (let i = 0; i < values.length; i++) {
    values[i] = storage[from]!;
    for (let d = shape.length - 1; d >= 0; d--) {
      index[d]!++;
      from += strides[d]!;
      if (index[d]! < shape[d]!) break;
      from -= index[d]! * strides[d]!;
      index[d] = 0;
    }
  }
  return values;
}
