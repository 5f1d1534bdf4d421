import { invariant } from '../../../../errors/invariant.ts';
import type { DType } from '../../../../spec/dtype.ts';

/** The elements of an operand as stored: of a dtype, or 32-bit words of scratch. */
export type ElementType = Exclude<DType, 'float64'> | 'word';

/** The WGSL type of an element's value. bool is an i32, 0 or 1. */
export type ValueType = 'f32' | 'i32' | 'u32';

interface ElementFacts {
  readonly value: ValueType;
  /** Bytes of an element; smaller ones than 4 share words. */
  readonly bytes: 1 | 2 | 4;
  /** Decodes a packed element's bits to a value, and encodes it. */
  readonly decode?: (bits: string) => string;
  readonly encode?: (value: string) => string;
}

const elements: { readonly [E in ElementType]: ElementFacts } = {
  float32: { value: 'f32', bytes: 4 },
  int32: { value: 'i32', bytes: 4 },
  word: { value: 'u32', bytes: 4 },
  float16: {
    value: 'f32',
    bytes: 2,
    decode: (bits) => `f_from_float16(${bits})`,
    encode: (value) => `f_float16_bits(${value})`,
  },
  bfloat16: {
    value: 'f32',
    bytes: 2,
    decode: (bits) => `bitcast<f32>(${bits} << 16u)`,
    encode: (value) => `f_bfloat16_bits(${value})`,
  },
  uint8: {
    value: 'i32',
    bytes: 1,
    decode: (bits) => `i32(${bits})`,
    encode: (value) => `(u32(${value}) & 0xffu)`,
  },
  bool: {
    value: 'i32',
    bytes: 1,
    decode: (bits) => `i32(${bits})`,
    encode: (value) => `select(0u, 1u, ${value} != 0i)`,
  },
};

export function valueTypeOf(type: ElementType): ValueType {
  return elements[type].value;
}

export function bytesOf(type: ElementType): number {
  return elements[type].bytes;
}

/** Returns the element type of a dtype on the GPU. */
export function elementTypeOf(dtype: DType): ElementType {
  invariant(dtype !== 'float64', 'float64 on the GPU');
  return dtype;
}

export function zeroText(type: ValueType): string {
  return { f32: '0.0f', i32: '0i', u32: '0u' }[type];
}

/** How elements of a dtype share words; null if they are words. */
export interface Packing {
  readonly value: ValueType;
  /** Bits per element. */
  readonly bits: 8 | 16;
  /** Elements per word. */
  readonly perWord: 2 | 4;
  readonly decode: (bits: string) => string;
  readonly encode: (value: string) => string;
}

export function packingOf(type: ElementType): Packing | null {
  const { value, bytes, decode, encode } = elements[type];
  if (bytes === 4 || !decode || !encode) return null;
  return bytes === 1
    ? { value, bits: 8, perWord: 4, decode, encode }
    : { value, bits: 16, perWord: 2, decode, encode };
}

/** Returns the value that an element of the type has after being stored. */
export function roundedText(type: ElementType, value: string): string {
  const packing = packingOf(type);
  return packing ? packing.decode(packing.encode(value)) : value;
}
