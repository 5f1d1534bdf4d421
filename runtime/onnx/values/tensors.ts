import { tensor } from '../../ops/core/create.ts';
import type { DType } from '../../spec/dtype.ts';
import { storedNumbers } from '../../spec/stored-numbers.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { badWeights, shown } from '../../weights/bad-file.ts';
import { dataType, externalLocation, type OnnxTensor } from '../format/proto.ts';
import { hostOf, type Value } from './host.ts';

type Read = (view: DataView, at: number) => number;

interface Kind {
  readonly name: string;
  readonly bytes: number;
  readonly read: Read;
  /** The dtype of the resulting tensor. */
  readonly dtype: DType;
  /** Set for integers that become JavaScript numbers. */
  readonly isHost?: true;
  readonly list: 'floatData' | 'int32Data' | 'int64Data' | 'doubleData' | 'uint64Data';
}

const int = (bytes: number, read: Read, name: string): Kind => ({
  name,
  bytes,
  read,
  dtype: 'int32',
  list: 'int32Data',
});

const kinds: ReadonlyMap<number, Kind> = new Map<number, Kind>([
  [
    dataType.float,
    {
      name: 'float',
      bytes: 4,
      read: (v, at) => v.getFloat32(at, true),
      dtype: 'float32',
      list: 'floatData',
    },
  ],
  [
    dataType.double,
    {
      name: 'double',
      bytes: 8,
      read: (v, at) => v.getFloat64(at, true),
      dtype: 'float64',
      list: 'doubleData',
    },
  ],
  [dataType.uint8, { ...int(1, (v, at) => v.getUint8(at), 'uint8'), dtype: 'uint8' }],
  [dataType.int8, int(1, (v, at) => v.getInt8(at), 'int8')],
  [dataType.uint16, int(2, (v, at) => v.getUint16(at, true), 'uint16')],
  [dataType.int16, int(2, (v, at) => v.getInt16(at, true), 'int16')],
  [dataType.int32, int(4, (v, at) => v.getInt32(at, true), 'int32')],
  [dataType.bool, { ...int(1, (v, at) => v.getUint8(at), 'bool'), dtype: 'bool' }],
  [
    dataType.int64,
    {
      name: 'int64',
      bytes: 8,
      read: (v, at) => Number(v.getBigInt64(at, true)),
      dtype: 'int32',
      isHost: true,
      list: 'int64Data',
    },
  ],
  [
    dataType.uint32,
    {
      name: 'uint32',
      bytes: 4,
      read: (v, at) => v.getUint32(at, true),
      dtype: 'int32',
      isHost: true,
      list: 'uint64Data',
    },
  ],
  [
    dataType.uint64,
    {
      name: 'uint64',
      bytes: 8,
      read: (v, at) => Number(v.getBigUint64(at, true)),
      dtype: 'int32',
      isHost: true,
      list: 'uint64Data',
    },
  ],
  [
    dataType.float16,
    {
      name: 'float16',
      bytes: 2,
      read: (v, at) => v.getUint16(at, true),
      dtype: 'float16',
      list: 'int32Data',
    },
  ],
  [
    dataType.bfloat16,
    {
      name: 'bfloat16',
      bytes: 2,
      read: (v, at) => v.getUint16(at, true),
      dtype: 'bfloat16',
      list: 'int32Data',
    },
  ],
]);

/** Returns the dtype of an element type; throws DataError for strings, complex numbers and quantized types. */
export function dtypeOf(type: number | undefined, where: string): DType {
  return kindOf(type, where).dtype;
}

function kindOf(type: number | undefined, where: string): Kind {
  const kind = kinds.get(type ?? 0);
  if (kind) return kind;
  const expected = [...kinds.values()].map(({ name }) => name).join(', ');
  throw badWeights('onnx', where, `element type ${type ?? 0}`, expected);
}

/** Reads a byte range of a file next to the model. */
export type ExternalData = (location: string, offset: number, length: number) => Uint8Array;

/** Reads a tensor of the file, checking its sizes, length and data location. Throws DataError. */
export function readTensor(proto: OnnxTensor, external: ExternalData): Value {
  const where = `the tensor ${shown(proto.name ?? '')}`;
  const kind = kindOf(proto.dataType, where);
  const shape = shapeOf(proto, where);
  const size = shape.reduce((product, dim) => product * dim, 1);
  const { dtype } = kind;
  const bytes = bytesOf(proto, size * kind.bytes, where, external);
  if (!bytes) {
    const list = proto[kind.list];
    if (list.length !== size) {
      throw badWeights('onnx', where, `${list.length} elements`, `${size} elements`);
    }
    return kind.isHost ? hostOf(list, shape) : stored(list, dtype, shape);
  }
  if (bytes.length !== size * kind.bytes) {
    throw badWeights('onnx', where, `${bytes.length} bytes`, `${size * kind.bytes} bytes`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = Array.from({ length: size }, (_, i) => kind.read(view, i * kind.bytes));
  return kind.isHost ? hostOf(values, shape) : stored(values, dtype, shape);
}

/** Half-precision numbers are given as bits. */
function stored(values: readonly number[], dtype: DType, shape: readonly number[]): Tensor {
  const data =
    dtype === 'float16' || dtype === 'bfloat16'
      ? Uint16Array.from(values)
      : storedNumbers(values, dtype, 'importOnnx');
  return tensor(data, { shape, dtype });
}

const mostDims = 16;

function shapeOf({ dims }: OnnxTensor, where: string): readonly number[] {
  if (dims.length > mostDims)
    throw badWeights('onnx', where, `${dims.length} dimensions`, `at most ${mostDims}`);
  let elements = 8;
  for (const dim of dims) {
    if (!Number.isSafeInteger(dim) || dim < 0)
      throw badWeights('onnx', where, `size ${dim}`, 'sizes from 0 on');
    elements *= Math.max(dim, 1);
  }
  if (!Number.isSafeInteger(elements))
    throw badWeights('onnx', where, `shape ${dims.join('x')}`, 'a shape that can be counted');
  return dims;
}

function bytesOf(
  proto: OnnxTensor,
  length: number,
  where: string,
  external: ExternalData,
): Uint8Array | undefined {
  if (proto.dataLocation !== externalLocation) return proto.rawData;
  const entries = new Map(proto.externalData.map(({ key, value }) => [key, value ?? ''] as const));
  const offset = Number(entries.get('offset') ?? 0);
  const own = Number(entries.get('length') ?? length);
  if (!Number.isSafeInteger(offset) || offset < 0 || own !== length) {
    throw badWeights('onnx', where, `${own} bytes from ${offset} on`, `${length} bytes`);
  }
  return external(entries.get('location') ?? '', offset, length);
}
