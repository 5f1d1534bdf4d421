/** Convolutions. */

import {
  addConv2dWeightGradOp,
  conv2dInputGradOp,
  conv2dOp,
  conv2dWeightGradOp,
} from '../convolution/conv.ts';
import { convTranspose2dOp } from '../convolution/conv-transpose.ts';

export const convolutionOps = [
  addConv2dWeightGradOp,
  conv2dInputGradOp,
  conv2dOp,
  conv2dWeightGradOp,
  convTranspose2dOp,
];
