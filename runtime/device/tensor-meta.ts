import { type DType, dtypes } from '../spec/dtype.ts';
import {
  contiguousStrides,
  formatShape,
  isContiguous,
  type Shape,
  sameShape,
} from '../spec/shape.ts';
import type { Device } from './device.ts';

/** Everything about a tensor except its data: enough to infer shapes and select a kernel. */
export interface TensorMeta {
  readonly dtype: DType;
  readonly shape: Shape;
  /** In elements, one per dimension. */
  readonly strides: readonly number[];
  /** The index of the first element in the holder, in elements. */
  readonly offset: number;
  readonly device: Device;
}

/** The result of shape inference. */
export interface TensorSpec {
  readonly dtype: DType;
  readonly shape: Shape;
}

export function contiguousMeta(spec: TensorSpec, device: Device): TensorMeta {
  const { dtype, shape } = spec;
  return { dtype, shape, strides: contiguousStrides(shape), offset: 0, device };
}

export function isContiguousMeta(meta: TensorMeta): boolean {
  return isContiguous(meta.shape, meta.strides);
}

/** Whether two tensors of one shape have the same strides, ignoring dimensions of size 1. */
export function sameStrides(a: TensorMeta, b: TensorMeta): boolean {
  return a.shape.every((size, dim) => size === 1 || a.strides[dim] === b.strides[dim]);
}

/** Formats a spec, such as `f32[2,4]`. */
export function formatSpec(spec: TensorSpec): string {
  return `${dtypes[spec.dtype].short}${formatShape(spec.shape)}`;
}

/** Formats strides, such as `strides 1,3`; empty if the tensor is contiguous. */
export function formatStrides(meta: TensorMeta): string {
  return isContiguousMeta(meta) ? '' : `strides ${meta.strides.join()}`;
}

/** Whether dtype, shape and strides are equal, ignoring irrelevant strides. */
export function sameLayout(a: TensorMeta, b: TensorMeta): boolean {
  return sameSpec(a, b) && formatStrides(a) === formatStrides(b);
}

/** Returns the meta of a control op's result, whose memory may be any part of an operand's. */
export function passedThroughMeta({ dtype, shape, strides, device }: TensorMeta): TensorMeta {
  return { dtype, shape, strides, offset: 0, device };
}

export function sameSpec(a: TensorSpec, b: TensorSpec): boolean {
  return a.dtype === b.dtype && sameShape(a.shape, b.shape);
}
