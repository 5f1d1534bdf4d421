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

type Row = readonly [type: number, bytes: number, dtype: DType, list: Kind['list'], read: Read];

const kindNamed = (name: string, [type, bytes, dtype, list, read]: Row): [number, Kind] => [
  type,
  { name, bytes, read, dtype, list },
];

const hostKindNamed = (name: string, row: Row): [number, Kind] => {
  const [type, facts] = kindNamed(name, row);
  return [type, { ...facts, isHost: true }];
};

const { float, double, uint8, int8, uint16, int16, int32, bool } = dataType;
const { int64, uint32, uint64, float16, bfloat16 } = dataType;

const kinds: ReadonlyMap<number, Kind> = new Map<number, Kind>([
  kindNamed('float', [float, 4, 'float32', 'floatData', (v, at) => v.getFloat32(at, true)]),
  kindNamed('double', [double, 8, 'float64', 'doubleData', (v, at) => v.getFloat64(at, true)]),
  kindNamed('uint8', [uint8, 1, 'uint8', 'int32Data', (v, at) => v.getUint8(at)]),
  kindNamed('int8', [int8, 1, 'int32', 'int32Data', (v, at) => v.getInt8(at)]),
  kindNamed('uint16', [uint16, 2, 'int32', 'int32Data', (v, at) => v.getUint16(at, true)]),
  kindNamed('int16', [int16, 2, 'int32', 'int32Data', (v, at) => v.getInt16(at, true)]),
  kindNamed('int32', [int32, 4, 'int32', 'int32Data', (v, at) => v.getInt32(at, true)]),
  kindNamed('bool', [bool, 1, 'bool', 'int32Data', (v, at) => v.getUint8(at)]),
  hostKindNamed('int64', [
    int64,
    8,
    'int32',
    'int64Data',
    (v, at) => Number(v.getBigInt64(at, true)),
  ]),
  hostKindNamed('uint32', [uint32, 4, 'int32', 'uint64Data', (v, at) => v.getUint32(at, true)]),
  hostKindNamed('uint64', [
    uint64,
    8,
    'int32',
    'uint64Data',
    (v, at) => Number(v.getBigUint64(at, true)),
  ]),
  kindNamed('float16', [float16, 2, 'float16', 'int32Data', (v, at) => v.getUint16(at, true)]),
  kindNamed('bfloat16', [bfloat16, 2, 'bfloat16', 'int32Data', (v, at) => v.getUint16(at, true)]),
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
