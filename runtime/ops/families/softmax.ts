/** Softmax and classification losses. */

import {
  crossEntropyGradOp,
  labelScoresOp,
  logSoftmaxOp,
  nllLossGradOp,
  nllLossOfScoresOp,
  nllLossOp,
  nllLossShareOp,
  softmaxOp,
} from '../normalization/softmax.ts';

export const softmaxOps = [
  crossEntropyGradOp,
  labelScoresOp,
  logSoftmaxOp,
  nllLossGradOp,
  nllLossOfScoresOp,
  nllLossOp,
  nllLossShareOp,
  softmaxOp,
];
