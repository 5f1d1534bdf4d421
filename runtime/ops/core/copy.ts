import * as copiesKernels from '../../device/cpu/movement/copies.ts';
import { named } from '../../device/kernel-op.ts';
import { defineOp } from '../record/define-op.ts';

/** Row-major copy of a tensor with any strides; its own gradient. In a separate file for eager execution. */
export const copy = defineOp({
  name: 'contiguous',
  operands: { x: 'data' },
  infer: ([x]) => ({ dtype: x!.dtype, shape: x!.shape }),
  kernel: named('copy', copiesKernels.copy),
  layout: 'any',
  vjp: { x: { saves: {}, rule: (_saved, dy) => dy } },
});
