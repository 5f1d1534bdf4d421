/** Blockwise 8-bit quantization of float32: used only by optimizers and by programs with such saved values. */

import * as quantizationKernels from '../../device/cpu/scalar/quantize.ts';
import { named } from '../../device/kernel-op.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import { blockSize, type QuantizationCode } from '../../numerics/quantization.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { defineOp } from '../record/define-op.ts';
import { bind, bind1 } from './bind.ts';

const attrs = { code: { oneOf: ['linear', 'signed', 'unsigned'] } } as const;

export const scalesOf = ({ shape }: Pick<TensorMeta, 'shape'>): number =>
  Math.ceil(sizeOf(shape) / blockSize);

export const quantizeOp = defineOp({
  name: 'quantize',
  operands: { x: 'data' },
  attrs,
  dtypes: { x: 'float32' },
  infer: ([x]) => [
    { dtype: 'uint8', shape: x!.shape },
    { dtype: 'float32', shape: [scalesOf(x!)] },
  ],
  kernel: named('quantize', quantizationKernels.quantize),
});

export const dequantizeOp = defineOp({
  name: 'dequantize',
  operands: { codes: 'data', scales: 'data' },
  attrs,
  dtypes: { codes: 'uint8', scales: 'float32' },
  infer: ([codes]) => ({ dtype: 'float32', shape: codes!.shape }),
  fits: ([codes, scales]) =>
    sizeOf(scales!.shape) === scalesOf(codes!) || `a scale per ${blockSize} elements`,
  kernel: named('dequantize', quantizationKernels.dequantize),
});

/** Returns `[uint8 codes of x's shape, float32 scales]`. A block with NaN or infinite elements becomes NaN. */
export function quantize(x: Tensor, code: QuantizationCode): readonly [Tensor, Tensor] {
  return bind(quantizeOp, [x], { code }) as unknown as readonly [Tensor, Tensor];
}

/** Returns the float32 values that the codes represent. */
export function dequantize(codes: Tensor, scales: Tensor, code: QuantizationCode): Tensor {
  return bind1(dequantizeOp, [codes, scales], { code });
}
