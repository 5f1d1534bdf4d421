import { crossEntropy, mseLoss, nllLoss } from '../ops/class-losses.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Mean of the squared differences. */
export class MSELoss extends Module {
  override forward(input: Tensor, target: Tensor): Tensor {
    return mseLoss(input, target);
  }
}

/** Mean cross entropy of raw scores [n, classes] with class indices int32 [n]. */
export class CrossEntropyLoss extends Module {
  override forward(scores: Tensor, target: Tensor): Tensor {
    return crossEntropy(scores, target);
  }
}

/** Mean of −logProbs[i, target[i]]; logProbs [n, classes], target int32 [n]. */
export class NLLLoss extends Module {
  override forward(logProbs: Tensor, target: Tensor): Tensor {
    return nllLoss(logProbs, target);
  }
}
