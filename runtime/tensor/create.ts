import { currentDevice } from '../device/current.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { newHolder } from '../ops/eager.ts';
import { type DType, newTypedArray, type TypedArray } from './dtype.ts';
import { contiguousMeta } from './meta.ts';
import { formatShape, type Shape, sizeOf } from './shape.ts';
import { Tensor } from './tensor.ts';

export type NestedArray = number | boolean | readonly NestedArray[];

export interface TensorOptions {
  /** From the data when left out: typed arrays by their type, booleans as bool, numbers as float32. */
  readonly dtype?: DType;
  /** For flat typed arrays; one dimension when left out. */
  readonly shape?: Shape;
  readonly requiresGrad?: boolean;
}

/** A new tensor on the current device, from a number, nested arrays or a typed array (copied). */
export function tensor(data: NestedArray | TypedArray, options: TensorOptions = {}): Tensor {
  const { values, shape, dtype } = ArrayBuffer.isView(data)
    ? fromTypedArray(data, options)
    : fromNested(data, options);
  const device = currentDevice();
  const meta = contiguousMeta({ dtype, shape }, device);
  const result = new Tensor(meta, newHolder(device, dtype, shape));
  device.upload(values, meta, result);
  return options.requiresGrad ? result.requiresGrad_() : result;
}

interface Contents {
  readonly values: TypedArray;
  readonly shape: Shape;
  readonly dtype: DType;
}

function dtypeOf(data: TypedArray): DType {
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof Float64Array) return 'float64';
  if (data instanceof Int32Array) return 'int32';
  if (data instanceof Uint8Array) return 'bool';
  throw new ArgumentError({
    what: 'tensor: no dtype for this kind of array',
    given: (data as ArrayBufferView).constructor.name,
    expected:
      'Float32Array, Float64Array, Int32Array (of the dtypes of these names) or Uint8Array (bool)',
    remedy: 'convert it: tensor(Float32Array.from(data))',
  });
}

function fromTypedArray(data: TypedArray, options: TensorOptions): Contents {
  const shape = fitting(options.shape ?? [data.length], data.length);
  const own = dtypeOf(data);
  const dtype = options.dtype ?? own;
  return { values: converted(data, dtype), shape, dtype };
}

function fitting(shape: Shape, elements: number): Shape {
  if (sizeOf(shape) === elements && shape.every((dim) => Number.isInteger(dim) && dim >= 0)) {
    return shape;
  }
  throw new ShapeError({
    what: 'tensor: the shape does not fit the data',
    given: `${elements} elements for shape ${formatShape(shape)} (${sizeOf(shape)} elements)`,
    expected: 'as many elements as the shape has',
    remedy: 'check the shape, or leave it out for the shape of the data',
  });
}

function converted(data: TypedArray, dtype: DType): TypedArray {
  if (dtypeOf(data) === dtype && dtype !== 'bool') return data;
  const values: TypedArray = newTypedArray(dtype, data.length);
  if (dtype === 'bool') for (let i = 0; i < data.length; i++) values[i] = data[i] ? 1 : 0;
  else values.set(data);
  return values;
}

function fromNested(data: NestedArray, options: TensorOptions): Contents {
  const shape: number[] = [];
  for (let level: NestedArray = data; Array.isArray(level); level = level[0]!) {
    shape.push(level.length);
    if (level.length === 0) break;
  }
  const flat: (number | boolean)[] = [];
  flattenInto(data, 0, shape, flat);
  const dtype =
    options.dtype ??
    (flat.length > 0 && flat.every((v) => typeof v === 'boolean') ? 'bool' : 'float32');
  const values: TypedArray = newTypedArray(dtype, flat.length);
  flat.forEach((value, i) => {
    values[i] = dtype === 'bool' ? (value ? 1 : 0) : Number(value);
  });
  return { values, shape: fitting(options.shape ?? shape, flat.length), dtype };
}

function flattenInto(
  data: NestedArray,
  depth: number,
  shape: Shape,
  flat: (number | boolean)[],
): void {
  if (typeof data === 'number' || typeof data === 'boolean') {
    if (depth !== shape.length) throw ragged(shape, `a number at depth ${depth}`);
    flat.push(data);
    return;
  }
  if (!Array.isArray(data)) {
    throw new ArgumentError({
      what: 'tensor: not numbers',
      given: `${data === null ? 'null' : typeof data} in the data at depth ${depth}`,
      expected: 'numbers or booleans, nested in arrays of equal length, or a typed array',
      remedy: 'convert the data to numbers first',
    });
  }
  if (data.length !== shape[depth]) throw ragged(shape, `${data.length} entries at depth ${depth}`);
  for (const item of data) flattenInto(item, depth + 1, shape, flat);
}

function ragged(shape: Shape, found: string): ShapeError {
  return new ShapeError({
    what: 'tensor: the nested arrays have different lengths',
    given: `${found}, where the first entries have shape ${formatShape(shape)}`,
    expected: 'arrays of equal length at each depth',
    remedy: 'pad the shorter arrays',
  });
}
