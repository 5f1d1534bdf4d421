/** Dtype rules at type level; see `docs/dtypes.md`. */

import type { DType } from './dtype.ts';

export type Floating = 'float16' | 'bfloat16' | 'float32' | 'float64';

/** Dtypes in the order of promotion; the two half-precision dtypes share a position. */
interface Rank {
  readonly bool: 0;
  readonly uint8: 1;
  readonly int32: 2;
  readonly float16: 3;
  readonly bfloat16: 3;
  readonly float32: 4;
  readonly float64: 5;
}

/** The ranks below each rank. */
interface LowerRanks {
  readonly 0: never;
  readonly 1: 0;
  readonly 2: 0 | 1;
  readonly 3: 0 | 1 | 2;
  readonly 4: 0 | 1 | 2 | 3;
  readonly 5: 0 | 1 | 2 | 3 | 4;
}

/** The dtype in which an op on two dtypes computes. */
export type Promoted<A extends DType, B extends DType> = A extends DType
  ? B extends DType
    ? A extends B
      ? A
      : Rank[A] extends LowerRanks[Rank[B]]
        ? B
        : Rank[B] extends LowerRanks[Rank[A]]
          ? A
          : 'float32'
    : never
  : never;

/** The result dtype of real-valued functions such as `exp`. */
export type RealOf<D extends DType> = D extends Floating ? D : 'float32';

/** The result dtype of sums and products over many elements. */
export type SumOf<D extends DType> = D extends Floating ? D : 'int32';
