/** 8-bit optimizer state: codes and a scale per block, which a step decodes, updates and encodes again. */

import type { QuantizationCode } from '../numerics/quantization.ts';
import { dequantize, quantize, scalesOf } from '../ops/core/quantize.ts';
import { copy_ } from '../ops/in-place/in-place.ts';
import type { OptionKind } from '../options/option-kinds.ts';
import { sizeOf } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { StateSpec } from './optimizer.ts';

export const stateBitsKind: OptionKind = {
  expected: '8 or 32',
  accepts: (value) => value === 8 || value === 32,
};

/**
 * Smaller parameters, such as biases, have float32 state: codes would save few bytes, and they are more sensitive to
 * errors.
 */
const leastElements = 4096;

/** Whether the state is stored as codes: only for large float32 parameters. */
const isCoded = ({ dtype, shape }: StateSpec): boolean =>
  dtype === 'float32' && sizeOf(shape) >= leastElements;

/** Returns the spec of a parameter's state, as codes or as values. */
export const codesOf = (parameter: StateSpec): StateSpec =>
  isCoded(parameter) ? { dtype: 'uint8', shape: parameter.shape } : parameter;

/** Returns the spec of the scales of a parameter's codes; empty if it has no codes. */
export const codeScalesOf = (parameter: StateSpec): StateSpec => ({
  dtype: 'float32',
  shape: [isCoded(parameter) ? scalesOf(parameter) : 0],
});

/** The encoding of one kind of state: plain values, or codes with scales. */
export class StateCoding {
  /** One tensor per parameter; empty if no state is stored as codes. */
  readonly scales: readonly Tensor[];
  readonly code: QuantizationCode;

  constructor(scales: readonly Tensor[], code: QuantizationCode) {
    this.scales = scales;
    this.code = code;
  }

  /** Returns the values of a parameter's state, to be updated in place and then passed to `store`. */
  load(state: Tensor, index: number): Tensor {
    return state.dtype === 'uint8' ? dequantize(state, this.scales[index]!, this.code) : state;
  }

  store(state: Tensor, index: number, values: Tensor): void {
    if (state.dtype !== 'uint8') return;
    const [codes, scales] = quantize(values, this.code);
    copy_(state, codes);
    copy_(this.scales[index]!, scales);
  }
}
