/** Batch, layer and group normalization. */

import {
  addStandardizeWeightGradOp,
  affineByStatsOp,
  affineGradOp,
  affineOp,
  byStatsOp,
  gradOp,
  standardizeOp,
  weightGradOp,
} from '../normalization/standardize-ops.ts';

export const standardizationOps = [
  addStandardizeWeightGradOp,
  affineByStatsOp,
  affineGradOp,
  affineOp,
  byStatsOp,
  gradOp,
  standardizeOp,
  weightGradOp,
];
