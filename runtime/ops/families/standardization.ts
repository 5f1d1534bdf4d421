/** Batch, layer and group normalization. */

import {
  addStandardizeWeightGradOp,
  affineGradOp,
  affineOp,
  gradOp,
  standardizeOp,
  weightGradOp,
} from '../normalization/standardize.ts';

export const standardizationOps = [
  addStandardizeWeightGradOp,
  affineGradOp,
  affineOp,
  gradOp,
  standardizeOp,
  weightGradOp,
];
