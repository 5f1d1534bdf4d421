import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Source } from '../../guards/source.ts';
import type { OuterTensors } from './outer-tensors.ts';

/** An input of a trace: where it comes from, and its value in the program. */
export interface TraceInput {
  readonly source: Source;
  readonly tensor: Tensor;
  /** The array that it is an element of, of which another call may have more or fewer. */
  readonly list: OuterTensors | null;
}

export interface TensorInput extends TraceInput {
  /** The user's. */
  readonly actual: Tensor;
}
