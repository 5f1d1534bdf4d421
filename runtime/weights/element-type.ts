import { DataError, DTypeError } from '../errors/errors.ts';
import { type DType, dtypes, newTypedArray, type TypedArray } from '../spec/dtype.ts';
import { isHalf } from '../spec/half.ts';
import { numbersOf, storedNumbers } from '../spec/stored-numbers.ts';

/** Element types of files, by safetensors' names. */
export type ElementType =
  | 'BOOL'
  | 'U8'
  | 'I8'
  | 'U16'
  | 'I16'
  | 'U32'
  | 'I32'
  | 'U64'
  | 'I64'
  | 'F16'
  | 'BF16'
  | 'F32'
  | 'F64';

interface ElementInfo {
  readonly bytes: number;
  /** The dtype of the resulting tensors; integers of 32 and 64 bits must fit into int32. */
  readonly dtype: DType;
  readonly get: (view: DataView, at: number, little: boolean) => number;
}

const wide = (value: bigint): number => {
  if (value > 0x7fffffffn || value < -0x80000000n) throw tooLarge(value);
  return Number(value);
};
const narrow = (value: number): number => {
  if (value > 0x7fffffff) throw tooLarge(value);
  return value;
};

export const elementTypes: { readonly [E in ElementType]: ElementInfo } = {
  BOOL: { bytes: 1, dtype: 'bool', get: (view, at) => truth(view.getUint8(at)) },
  U8: { bytes: 1, dtype: 'uint8', get: (view, at) => view.getUint8(at) },
  I8: { bytes: 1, dtype: 'int32', get: (view, at) => view.getInt8(at) },
  U16: { bytes: 2, dtype: 'int32', get: (view, at, little) => view.getUint16(at, little) },
  I16: { bytes: 2, dtype: 'int32', get: (view, at, little) => view.getInt16(at, little) },
  U32: { bytes: 4, dtype: 'int32', get: (view, at, little) => narrow(view.getUint32(at, little)) },
  I32: { bytes: 4, dtype: 'int32', get: (view, at, little) => view.getInt32(at, little) },
  U64: { bytes: 8, dtype: 'int32', get: (view, at, little) => wide(view.getBigUint64(at, little)) },
  I64: { bytes: 8, dtype: 'int32', get: (view, at, little) => wide(view.getBigInt64(at, little)) },
  // Half-precision values are stored as bits.
  F16: { bytes: 2, dtype: 'float16', get: (view, at, little) => view.getUint16(at, little) },
  BF16: { bytes: 2, dtype: 'bfloat16', get: (view, at, little) => view.getUint16(at, little) },
  F32: { bytes: 4, dtype: 'float32', get: (view, at, little) => view.getFloat32(at, little) },
  F64: { bytes: 8, dtype: 'float64', get: (view, at, little) => view.getFloat64(at, little) },
};

const written: { readonly [D in DType]: ElementType } = {
  bool: 'BOOL',
  uint8: 'U8',
  int32: 'I32',
  float16: 'F16',
  bfloat16: 'BF16',
  float32: 'F32',
  float64: 'F64',
};

/** Returns the element type that a dtype is written as. */
export const elementTypeOf = (dtype: DType): ElementType => written[dtype];

/** Whether the file's elements already have the memory format of the dtype. */
const isSame = (type: ElementType): boolean => written[elementTypes[type].dtype] === type;

/** Decodes elements. Little-endian bytes are copied directly: every JavaScript engine is little-endian. */
export function decodeElements(bytes: Uint8Array, type: ElementType, little: boolean): TypedArray {
  const { bytes: each, dtype, get } = elementTypes[type];
  const count = bytes.length / each;
  if (isSame(type) && little && type !== 'BOOL') {
    const values = newTypedArray(dtype, count);
    new Uint8Array(values.buffer).set(bytes);
    return values;
  }
  const values = newTypedArray(dtype, count);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let i = 0; i < count; i++) values[i] = get(view, i * each, little);
  return values;
}

/**
 * Converts elements to another dtype: floating-point numbers are rounded to another floating-point dtype; integers
 * become any dtype that can represent them. Throws DTypeError for other conversions.
 */
export function convertElements(values: TypedArray, from: DType, to: DType): TypedArray {
  if (from === to) return values;
  if (dtypes[from].floating && !dtypes[to].floating) {
    throw new DTypeError({
      what: 'weights: floating-point numbers for a tensor of integers',
      given: `${from} in the file`,
      expected: to,
      remedy: 'cast one of them: give the tensor the dtype of the file',
    });
  }
  if (isHalf(to)) return storedNumbers(numbersOf(values, from), to, 'weights');
  return storedNumbers(numbersOf(values, from), to, 'weights');
}

function truth(byte: number): number {
  if (byte <= 1) return byte;
  throw new DataError({
    what: 'weights: a boolean is neither 0 nor 1',
    given: String(byte),
    expected: '0 or 1',
    remedy: 'write the file again',
  });
}

function tooLarge(value: number | bigint): DataError {
  return new DataError({
    what: 'weights: an integer of the file is too large',
    given: String(value),
    expected: '-2147483648 to 2147483647, what int32 holds',
    remedy: 'write it as int32 or as floating-point numbers',
  });
}
