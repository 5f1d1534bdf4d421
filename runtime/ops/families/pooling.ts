/** Pooling and resampling. */

import {
  adaptiveMaxPool2dOp,
  maxPool2dCodedGradOp,
  maxPool2dCodedOp,
  maxPool2dGradOp,
  maxPool2dOp,
} from '../convolution/max-pool.ts';
import { resampleGradOp, resampleOp } from '../convolution/resample.ts';

export const poolingOps = [
  adaptiveMaxPool2dOp,
  maxPool2dCodedGradOp,
  maxPool2dCodedOp,
  maxPool2dGradOp,
  maxPool2dOp,
  resampleGradOp,
  resampleOp,
];
