import type { DType } from '../spec/dtype.ts';

/** A size that may vary between calls, within bounds. */
export interface DimSpec {
  /** Dimensions with the same name have the same size within a call. */
  readonly name?: string;
  /** Inclusive bounds. */
  readonly min?: number;
  readonly max?: number;
}

/** A size: fixed, any (`null`), shared by name, or within bounds. */
export type Dim = number | null | string | DimSpec;

/** The specification of a tensor argument; omitted properties may be anything. */
export class TensorSpec {
  readonly shape: readonly Dim[] | undefined;
  readonly dtype: DType | undefined;
  /** The name used in messages besides its position among the arguments. */
  readonly name: string | undefined;
  /** The name of the required device. */
  readonly device: string | undefined;

  constructor(
    shape: readonly Dim[] | undefined,
    dtype: DType | undefined,
    name: string | undefined,
    device: string | undefined,
  ) {
    this.shape = shape;
    this.dtype = dtype;
    this.name = name;
    this.device = device;
  }
}

/**
 * Specifies a tensor argument, for `toStatic(fn, { inputSpec: [tensorSpec(['batch', 784])] })`. `device` is a
 * device name (`cpu`, `gpu`, `meta`).
 */
export function tensorSpec(
  shape?: readonly Dim[],
  dtype?: DType,
  name?: string,
  device?: string,
): TensorSpec {
  return new TensorSpec(shape, dtype, name, device);
}

/** An optional argument: undefined and null are accepted, anything else must satisfy `spec`. */
export class OptionalSpec {
  readonly spec: InputSpec;

  constructor(spec: InputSpec) {
    this.spec = spec;
  }
}

/** Specifies an argument, element or property that may be missing (undefined or null). */
export function optionalSpec(spec: InputSpec): OptionalSpec {
  return new OptionalSpec(spec);
}

/** The specification of a tensor, or an array or object of specifications; `null` accepts anything. */
export type InputSpec =
  | TensorSpec
  | OptionalSpec
  | null
  | readonly InputSpec[]
  | { readonly [key: string]: InputSpec };

/** Returns a dynamic size with all defaults; null for a fixed one. */
export function openDim(
  dim: Dim,
): (Required<Omit<DimSpec, 'name'>> & Pick<DimSpec, 'name'>) | null {
  if (typeof dim === 'number') return null;
  const spec: DimSpec = dim === null ? {} : typeof dim === 'string' ? { name: dim } : dim;
  const { min = 0, max = Number.POSITIVE_INFINITY } = spec;
  return spec.name === undefined ? { min, max } : { name: spec.name, min, max };
}

/** Formats dimensions as users write them, such as `['batch', 784]`. */
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
