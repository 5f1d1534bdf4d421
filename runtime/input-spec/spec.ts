import type { DType } from '../spec/dtype.ts';

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

/** Specification of a tensor argument; an omitted property may be anything. */
export class TensorSpec {
  readonly shape: readonly Dim[] | undefined;
  readonly dtype: DType | undefined;
  /** For messages, besides its place among the arguments. */
  readonly name: string | undefined;
  /** The name of the device that it lies on. */
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
 * The specification of a tensor argument, for `toStatic(fn, { inputSpec: [tensorSpec(['batch', 784])] })`.
 * `device` is a device's name (`cpu`, `gpu`, `meta`).
 */
export function tensorSpec(
  shape?: readonly Dim[],
  dtype?: DType,
  name?: string,
  device?: string,
): TensorSpec {
  return new TensorSpec(shape, dtype, name, device);
}

/** An optional argument: undefined and null pass, anything else must satisfy `spec`. */
export class OptionalSpec {
  readonly spec: InputSpec;

  constructor(spec: InputSpec) {
    this.spec = spec;
  }
}

/** An argument, element or property that may be missing (undefined or null). */
export function optionalSpec(spec: InputSpec): OptionalSpec {
  return new OptionalSpec(spec);
}

/** A tensor's specification, or an array or object of them; `null`: anything at all. */
export type InputSpec =
  | TensorSpec
  | OptionalSpec
  | null
  | readonly InputSpec[]
  | { readonly [key: string]: InputSpec };

/** An open size with everything filled in; null for a fixed one. */
export function openDim(
  dim: Dim,
): (Required<Omit<DimSpec, 'name'>> & Pick<DimSpec, 'name'>) | null {
  if (typeof dim === 'number') return null;
  const given: DimSpec = dim === null ? {} : typeof dim === 'string' ? { name: dim } : dim;
  const { min = 0, max = Number.POSITIVE_INFINITY } = given;
  return given.name === undefined ? { min, max } : { name: given.name, min, max };
}

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
