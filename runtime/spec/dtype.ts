/** Element types. `bool` is a byte, 0 or 1; float16 and bfloat16 are stored as bits and computed in float32. */
export type DType = 'bool' | 'uint8' | 'int32' | 'float16' | 'bfloat16' | 'float32' | 'float64';

interface ArrayOf {
  readonly bool: Uint8Array;
  readonly uint8: Uint8Array;
  readonly int32: Int32Array;
  readonly float16: Uint16Array;
  readonly bfloat16: Uint16Array;
  readonly float32: Float32Array;
  readonly float64: Float64Array;
}

/** The type of `x.dtype` for a `Tensor<D>`. */
export type DTypeOf<D extends DType> = DType extends D ? DType : D;

export type TypedArrayOf<D extends DType> = ArrayOf[DTypeOf<D>];
export type TypedArray = TypedArrayOf<DType>;

const arrayTypes: { readonly [D in DType]: new (length: number) => ArrayOf[D] } = {
  bool: Uint8Array,
  uint8: Uint8Array,
  int32: Int32Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
};

interface DTypeInfo {
  /** Bytes of one element in CPU memory. */
  readonly bytes: number;
  /** The name in printed programs. */
  readonly short: string;
  /** The position in the promotion order: an operation on two dtypes computes in the later one. */
  readonly rank: number;
  readonly floating: boolean;
}

export const dtypes: { readonly [D in DType]: DTypeInfo } = {
  bool: { bytes: 1, short: 'bool', rank: 0, floating: false },
  uint8: { bytes: 1, short: 'u8', rank: 1, floating: false },
  int32: { bytes: 4, short: 'i32', rank: 2, floating: false },
  float16: { bytes: 2, short: 'f16', rank: 3, floating: true },
  bfloat16: { bytes: 2, short: 'bf16', rank: 3, floating: true },
  float32: { bytes: 4, short: 'f32', rank: 4, floating: true },
  float64: { bytes: 8, short: 'f64', rank: 5, floating: true },
};

/**
 * Returns the dtype in which an operation on two dtypes computes; the two half-precision dtypes promote to float32,
 * because neither contains the other.
 */
export function promote(a: DType, b: DType): DType {
  if (a === b) return a;
  if (dtypes[a].rank === dtypes[b].rank) return 'float32';
  return dtypes[a].rank > dtypes[b].rank ? a : b;
}

export function newTypedArray<D extends DType>(dtype: D, length: number): TypedArrayOf<D> {
  return new arrayTypes[dtype](length);
}
