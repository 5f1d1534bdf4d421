/** Element types. `bool` is stored as one byte, 0 or 1. */
export type DType = 'float32' | 'float64' | 'int32' | 'bool';

export type TypedArrayOf<D extends DType> = {
  float32: Float32Array;
  float64: Float64Array;
  int32: Int32Array;
  bool: Uint8Array;
}[D];
export type TypedArray = Float32Array | Float64Array | Int32Array | Uint8Array;

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
  float64: { bytes: 8, short: 'f64', rank: 3, floating: true },
};

export function promote(a: DType, b: DType): DType {
  return dtypes[a].rank >= dtypes[b].rank ? a : b;
}

const arrayTypes = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  bool: Uint8Array,
} as const;

export function newTypedArray<D extends DType>(dtype: D, length: number): TypedArrayOf<D> {
  return new arrayTypes[dtype](length) as TypedArrayOf<D>;
}
