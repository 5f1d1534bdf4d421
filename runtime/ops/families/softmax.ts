/** Softmax and classification losses. */

import {
  crossEntropyGradOp,
  logSoftmaxOp,
  nllLossGradOp,
  nllLossOp,
  nllLossShareOp,
  softmaxOp,
} from '../normalization/softmax.ts';

export const softmaxOps = [
  crossEntropyGradOp,
  logSoftmaxOp,
  nllLossGradOp,
  nllLossOp,
  nllLossShareOp,
  softmaxOp,
];
