import { invariant } from '../../../errors/invariant.ts';
import { type DType, dtypes } from '../../../spec/dtype.ts';
import type { Operand } from '../../device.ts';
import type { Attrs, KernelFactory } from '../../kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../../tensor-meta.ts';

export type { KernelFactory };

/** Returns the address of an operand's first element, in bytes. */
export function addressOf(operand: Operand, dtype: DType): number {
  return operand.holder!.ptr + operand.offset * dtypes[dtype].bytes;
}

/** Returns the index of an operand's first element in the heap's view of the dtype. */
export function indexOf(operand: Operand, dtype: DType): number {
  return operand.holder!.ptr / dtypes[dtype].bytes + operand.offset;
}

/** Asserts what op records with layout `contiguous` guarantee. */
export function expectContiguous(...metas: readonly TensorMeta[]): void {
  for (const meta of metas) invariant(isContiguousMeta(meta), 'kernel given a strided operand');
}

/** Returns a pair from the attributes, such as `stride`. */
export function pairAttr(attrs: Attrs, name: string): readonly [number, number] {
  return attrs[name] as unknown as readonly [number, number];
}
