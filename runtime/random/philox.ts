import { math } from '../numerics/math.ts';

/**
 * Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
 * as 1, 2, 3" (SC 2011). Number i of a stream is a pure function of (seed, i): lane i mod 4 of block ⌊i / 4⌋. So
 * any kernel, thread or recomputation draws the same numbers.
 */

const multiplier0 = 0xd2511f53;
const multiplier1 = 0xcd9e8d57;
const weyl0 = 0x9e3779b9;
const weyl1 = 0xbb67ae85;
const twoTo32 = 2 ** 32;

/** Returns the upper 32 bits of the product of two unsigned 32-bit numbers, without exceeding exact doubles. */
function highProduct(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carry = aLow * bHigh + (middle & 0xffff);
  return (aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(carry / 65536)) | 0;
}

/** Encrypts the counter with the key and writes four words into `out` as int32. */
export function philox(
  counter: readonly [number, number, number, number],
  key: readonly [number, number],
  out: Int32Array,
): void {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < 10; round++) {
    const high0 = highProduct(multiplier0, c0);
    const low0 = Math.imul(multiplier0, c0);
    const high1 = highProduct(multiplier1, c2);
    const low1 = Math.imul(multiplier1, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + weyl0) | 0;
    k1 = (k1 + weyl1) | 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/** Computes block `block` of the stream for `seed`; both up to 2^53. */
export function randomBlock(seed: number, block: number, out: Int32Array): void {
  philox([...twoWords(block), 0, 0], twoWords(seed), out);
}

/** Splits a number up to 2^53 into two 32-bit words, the lower one first. */
export function twoWords(value: number): readonly [number, number] {
  return [value | 0, Math.floor(value / twoTo32) | 0];
}

/** Converts the upper 24 bits to a float32 in [0, 1), exactly. */
export function toUniform(word: number): number {
  return (word >>> 8) / 2 ** 24;
}

/** Converts 53 bits of two words to a float64 in [0, 1), exactly. */
export function toDoubleUniform(high: number, low: number): number {
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

export function toUniforms(words: Int32Array, out: Float64Array): void {
  for (let lane = 0; lane < 4; lane++) out[lane] = toUniform(words[lane]!);
}

/** Replaces two uniform float64 numbers by normal ones. */
export function doublesToNormals(numbers: Float64Array): void {
  const [u, v] = [numbers[0]!, numbers[1]!];
  // 1 − u is never 0.
  const radius = Math.sqrt(-2 * math.log(1 - u));
  const angle = 2 * Math.PI * v;
  numbers[0] = radius * math.cos(angle);
  numbers[1] = radius * math.sin(angle);
}
