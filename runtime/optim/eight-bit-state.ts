/** State in 8 bits: codes and a scale per block, which a step decodes, updates and encodes again. */

import { dequantize, type QuantizationCode, quantize, scalesOf } from '../ops/core/quantize.ts';
import { copy_ } from '../ops/pointwise/in-place.ts';
import type { OptionKind } from '../options/option-kinds.ts';
import type { TensorSpec } from '../tensor/meta.ts';
import { sizeOf } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';

export type StateBits = 8 | 32;

export const stateBitsKind: OptionKind = {
  expected: '8 or 32',
  accepts: (value) => value === 8 || value === 32,
};

/** Smaller parameters, such as biases, keep float32: they have few bytes, and feel an error more. */
const leastElements = 4096;

/** Codes are for large parameters in float32. */
const isCoded = ({ dtype, shape }: TensorSpec): boolean =>
  dtype === 'float32' && sizeOf(shape) >= leastElements;

/** The state of a parameter: codes, or values where it has no codes. */
export const codesOf = (parameter: TensorSpec): TensorSpec =>
  isCoded(parameter) ? { dtype: 'uint8', shape: parameter.shape } : parameter;

/** The scales of its codes; none where it has no codes. */
export const codeScalesOf = (parameter: TensorSpec): TensorSpec => ({
  dtype: 'float32',
  shape: [isCoded(parameter) ? scalesOf(parameter) : 0],
});

/** One kind of state of all parameters. */
export class StateValues {
  /** Values, or codes where `scales` has elements; one tensor per parameter. */
  readonly tensors: readonly Tensor[];
  /** Empty if no state has codes. */
  readonly scales: readonly Tensor[];
  readonly code: QuantizationCode;

  constructor(tensors: readonly Tensor[], scales: readonly Tensor[], code: QuantizationCode) {
    this.tensors = tensors;
    this.scales = scales;
    this.code = code;
  }

  /** The values of one parameter's state, to be updated in place; `store` must follow. */
  load(index: number): Tensor {
    const own = this.tensors[index]!;
    return own.dtype === 'uint8' ? dequantize(own, this.scales[index]!, this.code) : own;
  }

  store(index: number, values: Tensor): void {
    const own = this.tensors[index]!;
    if (own.dtype !== 'uint8') return;
    const [codes, scales] = quantize(values, this.code);
    copy_(own, codes);
    copy_(this.scales[index]!, scales);
  }
}
