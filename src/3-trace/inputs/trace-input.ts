import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Source } from '../../guards/source.ts';
import type { OuterTensors } from './outer-tensors.ts';

/** An input of a trace: its source, and its value in the program. */
export interface TraceInput {
  readonly source: Source;
  readonly tensor: Tensor;
  /** The array of variable length that contains the input, if any. */
  readonly list: OuterTensors | null;
}

export interface TensorInput extends TraceInput {
  /** The user's tensor. */
  readonly actual: Tensor;
}
