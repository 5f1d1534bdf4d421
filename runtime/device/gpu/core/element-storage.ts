import { DTypeError } from '../../../errors/errors.ts';
import { type DType, newTypedArray, type TypedArray } from '../../../spec/dtype.ts';

/** A buffer's contents, in 32-bit words. */
export type Words = Uint32Array<ArrayBuffer>;

/** How a device stores elements. */
export interface ElementStorage {
  /** Bytes of an element. Throws DTypeError for a dtype that the device doesn't store. */
  bytesOf(dtype: DType): number;
  /** Elements as they are stored; of elements that are words the array's own memory. */
  toWords(data: TypedArray, dtype: DType): Words;
  fromWords(words: Words, dtype: DType): TypedArray;
}

const stored: readonly DType[] = ['float32', 'int32', 'bool'];

function bytesOf(dtype: DType): number {
  if (stored.includes(dtype)) return 4;
  throw new DTypeError({
    what: `gpu: ${dtype} is not available on the GPU`,
    given: `a ${dtype} tensor on the GPU`,
    expected: stored.join(', '),
    remedy: `cast it first: x.to('${dtype === 'uint8' ? 'int32' : 'float32'}'); or stay on the CPU: x.toAsync('cpu')`,
  });
}

/** Elements as words of their own dtype, for kernels in WGSL. */
export const typedStorage: ElementStorage = {
  bytesOf,
  toWords: (data, dtype) => (dtype === 'bool' ? Uint32Array.from(data) : wordsOf(data)),
  fromWords: (words, dtype) => converted(dtype === 'bool' ? words : viewed(words, dtype), dtype),
};

/** Every element as a float32, for kernels of gpu.js, which know no other type. */
export const floatStorage: ElementStorage = {
  bytesOf,
  toWords: (data, dtype) => {
    if (dtype === 'int32') refuseInexact(data);
    return wordsOf(data instanceof Float32Array ? data : Float32Array.from(data));
  },
  fromWords: (words, dtype) => converted(viewed(words, 'float32'), dtype),
};

/** The bits of an array of 32-bit elements, in its own memory where WebGPU can take that. */
export function wordsOf({ buffer, byteOffset, length }: TypedArray): Words {
  const words = new Uint32Array(buffer, byteOffset, length);
  return buffer instanceof ArrayBuffer ? (words as Words) : words.slice();
}

/** The words as elements of a dtype of 32 bits. */
function viewed({ buffer, byteOffset, length }: Words, dtype: DType): TypedArray {
  const Elements = dtype === 'float32' ? Float32Array : Int32Array;
  return new Elements(buffer, byteOffset, length);
}

function converted(values: ArrayLike<number>, dtype: DType): TypedArray {
  const result = newTypedArray(dtype, values.length);
  if (values.constructor === result.constructor) return values as TypedArray;
  result.set(values);
  return result;
}

/** Largest magnitude up to which float32 holds every integer. */
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
