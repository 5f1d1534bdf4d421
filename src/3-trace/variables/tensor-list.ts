import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/** A placeholder in op operands for tensors whose number may differ in another call. */
export class TensorList {
  /** The tensors at trace time. */
  readonly recorded: readonly Tensor[];

  constructor(recorded: readonly Tensor[]) {
    this.recorded = recorded;
  }
}
