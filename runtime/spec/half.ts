/**
 * The two 16-bit dtypes, for which JavaScript and WebAssembly have no arithmetic. Memory and typed arrays contain
 * their bits; kernels compute in float32. Rounding is to nearest, ties to even; a float64 is first rounded to
 * float32, as in PyTorch.
 */

const word = new Uint32Array(1);
const single = new Float32Array(word.buffer);

function bitsOf(value: number): number {
  single[0] = value;
  return word[0]!;
}

function numberOf(bits: number): number {
  word[0] = bits;
  return single[0]!;
}

/** The difference of float32's and float16's exponent biases: 2^(127 − 15). */
const exponentGap = 2 ** 112;

function toFloat16(value: number): number {
  const bits = bitsOf(value);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  // From 2^16 on, everything is infinite.
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  // Below 2^-14 the last bit is always 2^-24, as in a float32 near ½.
  if (magnitude < 0x38800000) return sign | (bitsOf(numberOf(magnitude) + 0.5) - 0x3f000000);
  const isOdd = (magnitude >>> 13) & 1;
  return sign | ((magnitude - (112 << 23) + 0xfff + isOdd) >>> 13);
}

function fromFloat16(bits: number): number {
  const sign = (bits & 0x8000) << 16;
  const magnitude = (bits & 0x7fff) << 13;
  const isSpecial = (bits & 0x7c00) === 0x7c00;
  const scaled = isSpecial ? magnitude | 0x7f800000 : bitsOf(numberOf(magnitude) * exponentGap);
  return numberOf((sign | scaled) >>> 0);
}

function toBfloat16(value: number): number {
  const bits = bitsOf(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return ((bits >>> 16) & 0x8000) | 0x7fc0;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

const fromBfloat16 = (bits: number): number => numberOf((bits << 16) >>> 0);

export type HalfDType = 'float16' | 'bfloat16';

interface HalfFormat {
  /** Returns the 16 bits of the nearest number. */
  readonly encode: (value: number) => number;
  readonly decode: (bits: number) => number;
}

export const halfFormats: { readonly [D in HalfDType]: HalfFormat } = {
  float16: { encode: toFloat16, decode: fromFloat16 },
  bfloat16: { encode: toBfloat16, decode: fromBfloat16 },
};

export function isHalf(dtype: string): dtype is HalfDType {
  return dtype === 'float16' || dtype === 'bfloat16';
}

/** Rounds numbers and returns their bits. */
export function encodeHalf(values: ArrayLike<number>, dtype: HalfDType): Uint16Array {
  return Uint16Array.from(values, halfFormats[dtype].encode);
}

/** Returns the numbers that the bits represent, exactly. */
export function decodeHalf(bits: ArrayLike<number>, dtype: HalfDType): Float32Array {
  return Float32Array.from(bits, halfFormats[dtype].decode);
}
