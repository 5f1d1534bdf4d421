import { isContiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import type { DType } from '../../runtime/spec/dtype.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';

export type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array;

const arrays = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  uint8: Uint8Array,
  bool: Uint8Array,
} as const;

const arrayOf = (dtype: DType) => arrays[dtype as keyof typeof arrays];

/** Returns the elements of a contiguous value at an address. */
export function typedArray(buffer: ArrayBufferLike, address: number, meta: TensorMeta): Numbers {
  return new (arrayOf(meta.dtype))(buffer as ArrayBuffer, address, sizeOf(meta.shape));
}

/** Copies the elements of a value at an address, in row-major order. */
export function readAt(
  buffer: ArrayBufferLike,
  address: number,
  meta: TensorMeta,
  room: Numbers,
): void {
  const Elements = arrayOf(meta.dtype);
  if (isContiguousMeta(meta)) {
    room.set(new Elements(buffer as ArrayBuffer, address, room.length));
    return;
  }
  const memory = new Elements(buffer as ArrayBuffer);
  const start = address / Elements.BYTES_PER_ELEMENT;
  eachPlace(meta, (offset, i) => {
    room[i] = memory[start + offset]!;
  });
}

/** Stores elements given in row-major order at a value's positions. */
export function storeAt(
  buffer: ArrayBufferLike,
  address: number,
  meta: TensorMeta,
  elements: ArrayBufferView,
): void {
  const Elements = arrayOf(meta.dtype);
  const { buffer: from, byteOffset } = elements;
  const source = new Elements(from as ArrayBuffer, byteOffset, sizeOf(meta.shape));
  if (isContiguousMeta(meta)) {
    new Elements(buffer as ArrayBuffer, address, source.length).set(source);
    return;
  }
  const memory = new Elements(buffer as ArrayBuffer);
  const start = address / Elements.BYTES_PER_ELEMENT;
  eachPlace(meta, (offset, i) => {
    memory[start + offset] = source[i]!;
  });
}

/** Calls `body` with the position of each element, relative to the first one. */
function eachPlace(
  { shape, strides }: TensorMeta,
  visit: (offset: number, index: number) => void,
): void {
  const at = shape.map(() => 0);
  let offset = 0;
  for (let i = sizeOf(shape) - 1, index = 0; i >= 0; i--, index++) {
    visit(offset, index);
    for (let d = shape.length - 1; d >= 0; d--) {
      offset += strides[d]!;
      if (++at[d]! < shape[d]!) break;
      offset -= strides[d]! * shape[d]!;
      at[d] = 0;
    }
  }
}
