/** Bool tensors as bits, in programs that save masks as bits. */

import * as bitsKernels from '../../device/cpu/scalar/bits.ts';
import { named } from '../../device/kernel-op.ts';
import { sizeOf } from '../../spec/shape.ts';
import { defineOp } from '../record/define-op.ts';

/** Packs eight elements per byte, the first one in the lowest bit; the last byte is padded with zeros. */
export const packBitsOp = defineOp({
  name: 'packBits',
  operands: { x: 'data' },
  dtypes: { x: 'bool' },
  infer: ([x]) => ({ dtype: 'uint8', shape: [Math.ceil(sizeOf(x!.shape) / 8)] }),
  kernel: named('packBits', bitsKernels.packBits),
});

/** Unpacks to a bool tensor of the given shape. */
export const unpackBitsOp = defineOp({
  name: 'unpackBits',
  operands: { bits: 'data' },
  attrs: { shape: 'sizes' },
  dtypes: { bits: 'uint8' },
  infer: (_, { shape }) => ({ dtype: 'bool', shape: shape as readonly number[] }),
  fits: ([bits], { shape }) =>
    sizeOf(bits!.shape) === Math.ceil(sizeOf(shape as readonly number[]) / 8) ||
    'a bit per element of the shape',
  kernel: named('unpackBits', bitsKernels.unpackBits),
});
