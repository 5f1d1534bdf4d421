import type { DType } from '../tensor/dtype.ts';

/** A size that may differ from call to call, within bounds. */
export interface DimSpec {
  /** Dimensions of one name have one size in a call. */
  readonly name?: string;
  /** Both included. */
  readonly min?: number;
  readonly max?: number;
}

/** One size: fixed, any (`null`), the same as others of its name, or within bounds. */
export type Dim = number | null | string | DimSpec;

/** What a tensor argument is: what is left out may be anything. */
export class TensorSpec {
  readonly shape: readonly Dim[] | undefined;
  readonly dtype: DType | undefined;
  /** For messages, instead of its place among the arguments. */
  readonly name: string | undefined;

  constructor(
    shape: readonly Dim[] | undefined,
    dtype: DType | undefined,
    name: string | undefined,
  ) {
    this.shape = shape;
    this.dtype = dtype;
    this.name = name;
  }
}

/**
 * The specification of a tensor argument, for `toStatic(fn, { inputSpec: [tensorSpec(['batch', 784])] })`.
 */
export function tensorSpec(shape?: readonly Dim[], dtype?: DType, name?: string): TensorSpec {
  return new TensorSpec(shape, dtype, name);
}

/** A tensor's specification, or an array or object of them; `null`: anything at all. */
export type InputSpec =
  | TensorSpec
  | null
  | readonly InputSpec[]
  | { readonly [key: string]: InputSpec };

/** `['batch', 784]` as people write it. */
export function printDims(shape: readonly Dim[]): string {
  const dims = shape.map((dim) => {
    if (dim === null) return '?';
    if (typeof dim !== 'object') return String(dim);
    const { name = '?', min, max } = dim;
    const bounds =
      min === undefined && max === undefined ? '' : ` from ${min ?? 0} to ${max ?? '∞'}`;
    return `${name}${bounds}`;
  });
  return `[${dims.join(', ')}]`;
}
