/** State in 8 bits: codes and a scale per block, which a step decodes, updates and encodes again. */

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

/** Smaller parameters, such as biases, keep float32: they have few bytes, and feel an error more. */
const leastElements = 4096;

/** Codes are for large parameters in float32. */
const isCoded = ({ dtype, shape }: StateSpec): boolean =>
  dtype === 'float32' && sizeOf(shape) >= leastElements;

/** The state of a parameter: codes, or values where it has no codes. */
export const codesOf = (parameter: StateSpec): StateSpec =>
  isCoded(parameter) ? { dtype: 'uint8', shape: parameter.shape } : parameter;

/** The scales of its codes; none where it has no codes. */
export const codeScalesOf = (parameter: StateSpec): StateSpec => ({
  dtype: 'float32',
  shape: [isCoded(parameter) ? scalesOf(parameter) : 0],
});

/** How one kind of state is held: as it is, or as codes with scales. */
export class StateCoding {
  /** One tensor per parameter; none if no state has codes. */
  readonly scales: readonly Tensor[];
  readonly code: QuantizationCode;

  constructor(scales: readonly Tensor[], code: QuantizationCode) {
    this.scales = scales;
    this.code = code;
  }

  /** The values of a parameter's state, to be updated in place; `store` must follow. */
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
