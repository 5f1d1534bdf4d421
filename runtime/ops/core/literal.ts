import * as fillingKernels from '../../device/cpu/scalar/fill.ts';
import { named } from '../../device/kernel-op.ts';
import type { DType } from '../../spec/dtype.ts';
import { type Shape, sizeOf } from '../../spec/shape.ts';
import { defineOp } from '../record/define-op.ts';

/** A tensor whose elements are part of the program, as stored. */
export const literal = defineOp({
  name: 'literal',
  operands: {},
  attrs: { shape: 'sizes', dtype: 'dtype', values: 'numbers' },
  fits: (_inputs, { shape, values }) =>
    (values as readonly number[]).length === sizeOf(shape as Shape) || 'a value for each element',
  infer: (_inputs, { shape, dtype }) => ({ dtype: dtype as DType, shape: shape as Shape }),
  kernel: named('literal', fillingKernels.literal),
  numbers: ['values'],
});
