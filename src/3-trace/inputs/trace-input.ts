import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Source } from '../../guards/source.ts';

/** An input of a trace: where it comes from, and its value in the program. */
export interface TraceInput {
  readonly source: Source;
  readonly tensor: Tensor;
}

export interface TensorInput extends TraceInput {
  /** The user's. */
  readonly actual: Tensor;
}
