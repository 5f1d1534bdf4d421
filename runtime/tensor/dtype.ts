/** Element types. `bool` is stored as one byte, 0 or 1. */
export type DType = 'float32' | 'int32' | 'bool';

export type TypedArrayOf<D extends DType> = {
  float32: Float32Array;
  int32: Int32Array;
  bool: Uint8Array;
}[D];
export type TypedArray = Float32Array | Int32Array | Uint8Array;

interface DTypeInfo {
  /** Bytes of one element in CPU memory. */
  readonly bytes: number;
  /** Name in printed programs. */
  readonly short: string;
  /** Place in the promotion order: an operation on two dtypes computes in the later one. */
  readonly rank: number;
  readonly floating: boolean;
}

export const dtypes: { readonly [D in DType]: DTypeInfo } = {
  bool: { bytes: 1, short: 'bool', rank: 0, floating: false },
  int32: { bytes: 4, short: 'i32', rank: 1, floating: false },
  float32: { bytes: 4, short: 'f32', rank: 2, floating: true },
};

export function promote(a: DType, b: DType): DType {
  return dtypes[a].rank >= dtypes[b].rank ? a : b;
}

export function newTypedArray(dtype: DType, length: number): TypedArray {
  if (dtype === 'float32') return new Float32Array(length);
  return dtype === 'int32' ? new Int32Array(length) : new Uint8Array(length);
}
