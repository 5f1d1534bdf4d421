import { type CtcLossOptions, ctcKinds, ctcLoss, type Lengths } from '../functional/ctc-loss.ts';
import { expectOptions } from '../options/expect-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';

/** Connectionist temporal classification: logProbs [t, n, classes], targets int32 [n, s] or all labels concatenated. */
export class CTCLoss extends Module {
  readonly options: CtcLossOptions;

  constructor(options: CtcLossOptions = {}, ...surplus: []) {
    super(...surplus);
    expectOptions('CTCLoss', options, ctcKinds);
    this.options = options;
  }

  override forward(
    logProbs: Tensor,
    targets: Tensor,
    inputLengths: Lengths,
    targetLengths: Lengths,
  ): Tensor {
    return ctcLoss(logProbs, targets, inputLengths, targetLengths, this.options);
  }
}
