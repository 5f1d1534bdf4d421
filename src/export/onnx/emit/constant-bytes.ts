import { storedNumbers } from '../../../../runtime/spec/stored-numbers.ts';
import type { Element } from '../../target/target.ts';

const stored = {
  i1: 'bool',
  ui8: 'uint8',
  i32: 'int32',
  f16: 'float16',
  bf16: 'bfloat16',
  f32: 'float32',
  f64: 'float64',
} as const;

const [lowestInt, highestInt] = [-(2 ** 31), 2 ** 31 - 1];

/** Encodes numbers as ONNX's `raw_data`: little-endian. */
export function constantBytes(values: ArrayLike<number>, element: Element): Uint8Array {
  if (element === 'i64' || element === 'ui64') {
    return bytesOf(BigInt64Array.from(Array.from(values, (value) => int64(value))));
  }
  if (element === 'ui32') return bytesOf(Uint32Array.from(values));
  const numbers = Array.from(values, (value) => {
    if (element === 'i1') return Number(value !== 0);
    // Bounds outside the integer type are replaced by the type's bounds.
    return element === 'i32' ? Math.trunc(Math.min(Math.max(value, lowestInt), highestInt)) : value;
  });
  return bytesOf(storedNumbers(numbers, stored[element], 'export'));
}

function int64(value: number): bigint {
  if (value >= 2 ** 63) return 2n ** 63n - 1n;
  return value < -(2 ** 63) ? -(2n ** 63n) : BigInt(Math.trunc(value));
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
