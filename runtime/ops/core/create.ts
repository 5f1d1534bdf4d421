import { currentDevice } from '../../device/current.ts';
import { contiguousMeta } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { shown } from '../../options/expect-options.ts';
import type { DType, TypedArray } from '../../spec/dtype.ts';
import { isHalf } from '../../spec/half.ts';
import { formatShape, type Shape, sizeOf } from '../../spec/shape.ts';
import { heldNumbers, storedNumbers } from '../../spec/stored-numbers.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { isNumber, isSymbolic } from '../numbers/symbolic-number.ts';
import { bind1, intercepted } from './bind.ts';
import { type CreateOptions, created, expectOptions } from './creation-options.ts';
import { newHolder } from './eager.ts';
import { literal } from './literal.ts';

export type NestedArray<V extends number | boolean = number | boolean> =
  | V
  | readonly NestedArray<V>[];

/** The data that `tensor` accepts; images in pages have clamped bytes. */
export type TensorData = NestedArray | TypedArray | Uint8ClampedArray;

export interface TensorOptions<D extends DType = DType> extends CreateOptions<D> {
  /**
   * Inferred from the data by default: typed arrays by their type (Uint8Array and Uint8ClampedArray as uint8), booleans
   * as bool, numbers as float32. A Uint16Array contains the bits of float16 or bfloat16, which must be named.
   */
  readonly dtype?: D | undefined;
  /** The shape for flat typed arrays; one dimension by default. */
  readonly shape?: Shape | undefined;
}

type OptionsWithoutDType = Omit<TensorOptions, 'dtype'>;

/** Creates a tensor on the current device from a number, nested arrays or a typed array (copied). */
export function tensor<D extends DType>(
  data: TensorData,
  options: TensorOptions<D> & { readonly dtype: D },
): Tensor<D>;
export function tensor(
  data: Float32Array | NestedArray<number>,
  options?: OptionsWithoutDType,
): Tensor<'float32'>;
export function tensor(data: NestedArray<boolean>, options?: OptionsWithoutDType): Tensor<'bool'>;
export function tensor(data: Float64Array, options?: OptionsWithoutDType): Tensor<'float64'>;
export function tensor(data: Int32Array, options?: OptionsWithoutDType): Tensor<'int32'>;
export function tensor(
  data: Uint8Array | Uint8ClampedArray,
  options?: OptionsWithoutDType,
): Tensor<'uint8'>;
export function tensor(data: TensorData, options?: TensorOptions): Tensor;
export function tensor(data: TensorData, options: TensorOptions = {}): Tensor {
  return created({ op: 'tensor', options, dtype: null, names }, (dtype) =>
    ofData(data, options.shape, dtype),
  );
}

const names: readonly string[] = ['shape'];

const isTypedArray = (data: unknown): data is TypedArray =>
  ArrayBuffer.isView(data) && !(data instanceof DataView);

function ofData(source: TensorData, requested: Shape | undefined, named: DType | null): Tensor {
  const data =
    source instanceof Uint8ClampedArray
      ? new Uint8Array(source.buffer, source.byteOffset, source.length)
      : source;
  const { values, shape, dtype } = isTypedArray(data)
    ? fromTypedArray(data, requested, named)
    : fromNested(data, requested, named);
  if (intercepted()) return bind1(literal, [], { shape, dtype, values: Array.from(values) });
  const device = currentDevice();
  const meta = contiguousMeta({ dtype, shape }, device);
  const result = new Tensor(meta, newHolder(device, dtype, shape));
  device.upload(values as TypedArray, meta, result);
  return result;
}

/** Creates a tensor on the device and with the dtype of `x`, unless the options name others. */
export function newTensor(x: Tensor, data: TensorData, options: TensorOptions = {}): Tensor {
  const { dtype, device } = x;
  return created({ op: 'newTensor', options, dtype, device, names }, (resolved) =>
    ofData(data, options.shape, resolved),
  );
}

/**
 * Returns a tensor unchanged, or cast and moved if the options name another dtype or device; calls `tensor(data,
 * options)` for other data. As in PyTorch, there is no option `requiresGrad`, because the tensor may be the caller's.
 */
export function asTensor(
  data: Tensor | TensorData,
  options: Pick<TensorOptions, 'dtype' | 'device' | 'shape'> = {},
): Tensor {
  if (data instanceof Tensor) {
    expectOptions('asTensor', options, asNames);
    const { dtype, device } = options;
    const moved = device === undefined ? data : data.to(device);
    return dtype ? moved.to(dtype) : moved;
  }
  expectOptions('asTensor', options, [...asNames, 'shape']);
  return tensor(data, options);
}

const asNames: readonly string[] = ['dtype', 'device'];

/** Whether a value is a tensor. */
export const isTensor = (value: unknown): value is Tensor => value instanceof Tensor;

interface Contents {
  /** In a trace, may include numbers that each run computes. */
  readonly values: TypedArray | readonly number[];
  readonly shape: Shape;
  readonly dtype: DType;
}

function dtypeOf(data: TypedArray, requested: DType | null): DType {
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof Float64Array) return 'float64';
  if (data instanceof Int32Array) return 'int32';
  if (data instanceof Uint8Array) return 'uint8';
  if (data instanceof Uint16Array && requested && isHalf(requested)) return requested;
  throw new ArgumentError({
    what: 'tensor: no dtype for this kind of array',
    given: (data as ArrayBufferView).constructor.name,
    expected:
      'Float32Array, Float64Array, Int32Array, Uint8Array or Uint8ClampedArray; Uint16Array for the bits of a named float16 or bfloat16',
    remedy: 'convert it: tensor(Float32Array.from(data))',
  });
}

function fromTypedArray(
  data: TypedArray,
  requested: Shape | undefined,
  named: DType | null,
): Contents {
  const shape = fitting(requested ?? [data.length], data.length);
  const dataDtype = dtypeOf(data, named);
  const dtype = named ?? dataDtype;
  const values = dataDtype === dtype ? data : storedNumbers(data, dtype, 'tensor');
  return { values, shape, dtype };
}

function fitting(shape: Shape, elements: number): Shape {
  const isShape = Array.isArray(shape) && shape.every((dim) => Number.isInteger(dim) && dim >= 0);
  if (isShape && sizeOf(shape) === elements) return shape;
  throw new ShapeError({
    what: 'tensor: the shape does not fit the data',
    given: `${elements} elements for shape ${isShape ? formatShape(shape) : shown(shape)}`,
    expected: 'as many elements as the shape has',
    remedy: 'check the shape, or leave it out for the shape of the data',
  });
}

function fromNested(
  data: NestedArray,
  requested: Shape | undefined,
  named: DType | null,
): Contents {
  const shape: number[] = [];
  for (let level: NestedArray = data; Array.isArray(level); level = level[0]!) {
    shape.push(level.length);
    if (level.length === 0) break;
  }
  const flat: (number | boolean)[] = [];
  flattenInto(data, 0, shape, flat);
  const all = (type: string) => flat.every((value) => typeof value === type);
  const isPlain = all('number');
  const dtype = named ?? (!isPlain && all('boolean') ? 'bool' : 'float32');
  const values =
    !isPlain && flat.some(isSymbolic)
      ? heldNumbers(flat as number[], dtype, 'tensor')
      : storedNumbers(isPlain ? (flat as number[]) : flat.map(Number), dtype, 'tensor');
  return { values, shape: fitting(requested ?? shape, flat.length), dtype };
}

function flattenInto(
  data: NestedArray,
  depth: number,
  shape: Shape,
  flat: (number | boolean)[],
): void {
  if (isNumber(data) || typeof data === 'boolean') {
    if (depth !== shape.length) throw ragged(shape, `a number at depth ${depth}`);
    flat.push(data);
    return;
  }
  if (!Array.isArray(data)) {
    throw new ArgumentError({
      what: 'tensor: not numbers',
      given: `${shown(data)} in the data at depth ${depth}`,
      expected: 'numbers or booleans, nested in arrays of equal length, or a typed array',
      remedy: remedyFor(data),
    });
  }
  if (data.length !== shape[depth]) throw ragged(shape, `length ${data.length} at depth ${depth}`);
  const isInnermost = depth === shape.length - 1;
  for (let i = 0; i < data.length; i++) {
    const item = data[i]!;
    if (isInnermost && typeof item === 'number') flat.push(item);
    else flattenInto(item, depth + 1, shape, flat);
  }
}

function remedyFor(data: unknown): string {
  if (data instanceof Tensor) return 'join tensors with stack([a, b]) or cat([a, b])';
  return data instanceof Promise ? 'await it first' : 'convert the data to numbers first';
}

function ragged(shape: Shape, found: string): ShapeError {
  return new ShapeError({
    what: 'tensor: the nested arrays have different lengths',
    given: `${found}, where the first entries have shape ${formatShape(shape)}`,
    expected: 'arrays of equal length at each depth',
    remedy: 'pad the shorter arrays',
  });
}
