import { DTypeError } from '../../../errors/errors.ts';
import { type DType, dtypes, newTypedArray, type TypedArray } from '../../../spec/dtype.ts';

/** A buffer's contents as 32-bit words. */
export type Words = Uint32Array<ArrayBuffer>;

/** How a device stores elements. */
export interface ElementStorage {
  /** Returns the bytes of an element. Throws DTypeError for an unsupported dtype. */
  bytesOf(dtype: DType): number;
  /** Returns elements as stored, starting at a word boundary; the array's own memory if it has that form. */
  toWords(data: TypedArray, dtype: DType): Words;
  /** Returns `count` elements, starting at element `first` of the words, possibly sharing the words' memory. */
  fromWords(words: Words, dtype: DType, count: number, first?: number): TypedArray;
}

const wordBytes = 4;

/** Stores elements in their own dtype, for WGSL kernels. */
export const typedStorage: ElementStorage = {
  bytesOf: (dtype) => {
    if (dtype !== 'float64') return dtypes[dtype].bytes;
    throw unstored(dtype, 'every other dtype', 'WebGPU has no 64-bit numbers');
  },
  toWords: wordsOf,
  fromWords: (words, dtype, count, first = 0) => {
    const { buffer, byteOffset } = words;
    if (dtype === 'float32') return new Float32Array(buffer, byteOffset, count);
    if (dtype === 'int32') return new Int32Array(buffer, byteOffset, count);
    const result = newTypedArray(dtype, count);
    const { BYTES_PER_ELEMENT: bytes } = result;
    const stored = new Uint8Array(buffer, byteOffset + first * bytes, count * bytes);
    new Uint8Array(result.buffer).set(stored);
    return result;
  },
};

/** Dtypes that gpu.js kernels process as float32. */
const floats: readonly DType[] = ['float32', 'int32', 'bool'];

/** Stores every element as float32, the only type of gpu.js kernels. */
export const floatStorage: ElementStorage = {
  bytesOf: (dtype) => {
    if (floats.includes(dtype)) return wordBytes;
    throw unstored(dtype, floats.join(', '), 'kernels of gpu.js store every element as a float32');
  },
  toWords: (data, dtype) => {
    if (dtype === 'int32') refuseInexact(data);
    return wordsOf(data instanceof Float32Array ? data : Float32Array.from(data));
  },
  fromWords: ({ buffer, byteOffset }, dtype, count) => {
    const values = new Float32Array(buffer, byteOffset, count);
    if (dtype === 'float32') return values;
    const result = newTypedArray(dtype, count);
    result.set(values);
    return result;
  },
};

/** Returns an array's bytes as words, padding the last one; the array's own memory if WebGPU accepts it. */
export function wordsOf(data: TypedArray): Words {
  const { buffer, byteOffset, byteLength } = data;
  const count = Math.ceil(byteLength / wordBytes);
  const areWords = byteOffset % wordBytes === 0 && byteLength % wordBytes === 0;
  if (areWords && buffer instanceof ArrayBuffer) return new Uint32Array(buffer, byteOffset, count);
  const words = new Uint32Array(count);
  new Uint8Array(words.buffer).set(new Uint8Array(buffer, byteOffset, byteLength));
  return words;
}

/** The words that contain a range of elements. */
export interface ElementSpan {
  /** The first word and the number of words. */
  readonly first: number;
  readonly count: number;
  /** Elements of the first word before the range. */
  readonly skipped: number;
}

/** Returns the words with `count` elements of this size, starting at element `offset`. */
export function spanOf(offset: number, count: number, bytes: number): ElementSpan {
  const perWord = wordBytes / bytes;
  const first = Math.floor(offset / perWord);
  return {
    first,
    count: Math.ceil((offset + count) / perWord) - first,
    skipped: offset - first * perWord,
  };
}

function unstored(dtype: DType, expected: string, why: string): DTypeError {
  return new DTypeError({
    what: `gpu: ${dtype} is not available on the GPU`,
    given: `a ${dtype} tensor on the GPU`,
    expected: `${expected}: ${why}`,
    remedy: `cast it first: x.to('${dtype === 'uint8' ? 'int32' : 'float32'}'); or stay on the CPU: x.toAsync('cpu')`,
  });
}

/** The largest magnitude up to which float32 represents every integer. */
const maxExactInteger = 2 ** 24;

function refuseInexact(data: TypedArray): void {
  const bad = data.findIndex((value) => Math.abs(value) > maxExactInteger);
  if (bad < 0) return;
  throw new DTypeError({
    what: 'gpu: an integer is too large for kernels of gpu.js, which store int32 as float32',
    given: `${data[bad]} at element ${bad}`,
    expected: `integers from ${-maxExactInteger} to ${maxExactInteger}`,
    remedy:
      "use init('gpu') with WebGPU and kernels: 'all'; or keep the tensor on the CPU: deviceGuard('cpu', …)",
  });
}
