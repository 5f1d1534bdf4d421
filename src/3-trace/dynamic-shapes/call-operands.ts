import { contiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import type { GivenOperand, OperandForm } from '../../../runtime/program/dynamic-call.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { DeferredNumber } from '../state/tape.ts';
import { sampleRuns } from '../variables/sample-numbers.ts';
import { OperandPlace } from './traced-call.ts';

/** The operands of a call that is being appended to the program. */
export class CallOperands {
  readonly forms: OperandForm[] = [];
  readonly tensors: Tensor[] = [];
  /** The value of each operand in each sample run; undefined if the run doesn't get that far. */
  readonly samples: (readonly (GivenOperand | undefined)[])[] = [];

  /** For each operand, its length if it is a list whose length sizes determine, else null. */
  readonly counts: (DeferredNumber | null)[] = [];

  get metas(): TensorMeta[] {
    return metasOf(this.tensors);
  }

  add(
    form: OperandForm,
    tensor: Tensor,
    samples: readonly (GivenOperand | undefined)[],
    isBoolean = false,
    count: DeferredNumber | null = null,
  ): OperandPlace {
    this.tensors.push(tensor);
    this.samples.push(samples);
    this.counts.push(count);
    return new OperandPlace(this.forms.push(form) - 1, isBoolean);
  }

  /** Adds an operand whose shape is the same in all runs. */
  addKnown(tensor: Tensor): OperandPlace {
    return this.add(
      'tensor',
      tensor,
      sampleRuns.map(() => null),
    );
  }
}

export function metasOf(tensors: readonly Tensor[]): TensorMeta[] {
  return tensors.map(({ dtype, shape, device }) => contiguousMeta({ dtype, shape }, device));
}
