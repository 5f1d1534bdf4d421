import { invariant } from '../../../errors/invariant.ts';
import type { DType } from '../../../spec/dtype.ts';

/** The elements of an operand as its storage buffer has them: those of a dtype, or the 32-bit words of scratch. */
export type ElementType = 'float32' | 'int32' | 'bool' | 'word';

/** The type of an element's value in WGSL. bool is an i32, 0 or 1. */
export type ValueType = 'f32' | 'i32' | 'u32';

const valueTypes: { readonly [E in ElementType]: ValueType } = {
  float32: 'f32',
  int32: 'i32',
  bool: 'i32',
  word: 'u32',
};

export function valueTypeOf(type: ElementType): ValueType {
  return valueTypes[type];
}

/** The elements of a tensor on the GPU. */
export function elementTypeOf(dtype: DType): ElementType {
  invariant(dtype === 'float32' || dtype === 'int32' || dtype === 'bool', `${dtype} on the GPU`);
  return dtype;
}

/** The zero of a type. */
export function zeroText(type: ValueType): string {
  return { f32: '0.0f', i32: '0i', u32: '0u' }[type];
}

/** The element type of a buffer's array in WGSL. */
export type ArrayType = 'f32' | 'i32' | 'u32';

/** The array for a buffer whose elements operands take for these types: bits where they differ. */
export function arrayTypeOf(types: ReadonlySet<ElementType>): ArrayType {
  const values = new Set([...types].map(valueTypeOf));
  const [only] = values;
  return values.size === 1 ? only! : 'u32';
}
