import { DTypeError } from '../../errors/errors.ts';
import { type DType, newTypedArray, type TypedArray } from '../../spec/dtype.ts';

/** Largest magnitude up to which float32 holds every integer. */
const maxExactInteger = 2 ** 24;

const stored: readonly DType[] = ['float32', 'int32', 'bool'];

/** Bytes of an element on the GPU, which stores each as a float32. Throws DTypeError for what it can't be. */
export function elementBytes(dtype: DType): number {
  if (stored.includes(dtype)) return 4;
  throw new DTypeError({
    what: `gpu: ${dtype} is not available on the GPU`,
    given: `a ${dtype} tensor on the GPU`,
    expected: stored.join(', '),
    remedy: `cast it first: x.to('${dtype === 'uint8' ? 'int32' : 'float32'}'); or stay on the CPU: x.toAsync('cpu')`,
  });
}

/** Elements as the GPU stores them. A Float32Array that WebGPU can take is answered itself. */
export function toFloats(data: TypedArray, dtype: DType): Float32Array<ArrayBuffer> {
  if (data instanceof Float32Array && data.buffer instanceof ArrayBuffer) {
    return data as Float32Array<ArrayBuffer>;
  }
  const values = new Float32Array(data.length);
  values.set(data);
  if (dtype === 'int32') refuseInexact(data);
  return values;
}

function refuseInexact(data: TypedArray): void {
  const bad = data.findIndex((value) => Math.abs(value) > maxExactInteger);
  if (bad < 0) return;
  throw new DTypeError({
    what: 'gpu: an integer is too large for the GPU, which stores int32 as float32',
    given: `${data[bad]} at element ${bad}`,
    expected: `integers from ${-maxExactInteger} to ${maxExactInteger}`,
    remedy: "keep the tensor on the CPU: deviceGuard('cpu', …), or await x.toAsync('cpu')",
  });
}

export function fromFloats(values: Float32Array, dtype: DType): TypedArray {
  if (dtype === 'float32') return values;
  const result = newTypedArray(dtype, values.length);
  result.set(values);
  return result;
}
