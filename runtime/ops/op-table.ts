/**
 * The ops by name, for programs: their files and the passes on them name ops that no function of a page calls. This file
 * refers to all: to their records, or to modules that have little besides them.
 */

import { invariant } from '../errors/invariant.ts';
import { scaleGradientOp } from './advanced-indexing/embedding.ts';
import { scatterReduceOp } from './advanced-indexing/scatter-reduce.ts';
import { flipOp, rollOp } from './arranging/rearrange.ts';
import {
  addConv2dWeightGradOp,
  conv2dInputGradOp,
  conv2dOp,
  conv2dWeightGradOp,
} from './convolution/conv.ts';
import { convTranspose2dOp } from './convolution/conv-transpose.ts';
import {
  adaptiveMaxPool2dOp,
  maxPool2dCodedGradOp,
  maxPool2dCodedOp,
  maxPool2dGradOp,
  maxPool2dOp,
} from './convolution/max-pool.ts';
import { resampleGradOp, resampleOp } from './convolution/resample.ts';
import { packBitsOp, unpackBitsOp } from './core/bits.ts';
import { expandLikeOp, expandOp, sumToOp } from './core/broadcast.ts';
import * as copy from './core/copy.ts';
import * as literal from './core/literal.ts';
import { dequantizeOp, quantizeOp } from './core/quantize.ts';
import * as inPlace from './in-place/in-place.ts';
import * as pointwiseInPlace from './in-place/pointwise-in-place.ts';
import { gatherGradOp, gatherOp, scatterAddOp, scatterOp } from './indexing/gather.ts';
import { indexAddOp, indexGradOp, indexOp, indexPutOp } from './indexing/indexing.ts';
import { choleskyOp } from './linalg/cholesky.ts';
import { cofactorsOp, detOp, logAbsDetOp } from './linalg/determinants.ts';
import { inverseOp, solveOp, solveTriangularOp } from './linalg/linear-systems.ts';
import { binaryCrossEntropyOp, logitCrossEntropyOp } from './loss/probability-losses.ts';
import { smoothL1Op } from './loss/regression-losses.ts';
import { fullOp, normalOp, uniformOp } from './movement/create.ts';
import { catOp } from './movement/joining.ts';
import { narrowGradOp, narrowOp, permuteOp, viewLikeOp, viewOp } from './movement/movement.ts';
import { asStridedOp, placeIntoOp, placeOp } from './movement/place.ts';
import { arangeOp } from './movement/ranges.ts';
import { diagonalOp, sliceOp } from './movement/views.ts';
import { unfoldGradOp, unfoldOp } from './movement/windows.ts';
import {
  crossEntropyGradOp,
  logSoftmaxOp,
  nllLossGradOp,
  nllLossOp,
  nllLossShareOp,
  softmaxOp,
} from './normalization/softmax.ts';
import {
  addStandardizeWeightGradOp,
  affineGradOp as standardizeAffineGradOp,
  affineOp as standardizeAffineOp,
  gradOp as standardizeGradOp,
  standardizeOp,
  weightGradOp as standardizeWeightGradOp,
} from './normalization/standardize.ts';
import * as pointwise from './pointwise/pointwise.ts';
import { addMatmulOp, matmulOp } from './products/matmul.ts';
import { type OpRecord, opsIn } from './record/define-op.ts';
import * as extremes from './reduce/extremes.ts';
import { nuclearNormOp } from './reduce/nuclear-norm.ts';
import { sortOp, topkOp } from './reduce/order.ts';
import { addSumOp, sumOp, unreduceOp } from './reduce/reduce.ts';
import * as runningExtremes from './reduce/running-extremes.ts';
import { cumprodGradOp, cumprodOp, cumsumOp, prodOp } from './reduce/scans.ts';

const ops = [
  adaptiveMaxPool2dOp,
  addConv2dWeightGradOp,
  addMatmulOp,
  addStandardizeWeightGradOp,
  addSumOp,
  arangeOp,
  asStridedOp,
  binaryCrossEntropyOp,
  catOp,
  choleskyOp,
  cofactorsOp,
  conv2dInputGradOp,
  conv2dOp,
  conv2dWeightGradOp,
  convTranspose2dOp,
  crossEntropyGradOp,
  cumprodGradOp,
  cumprodOp,
  cumsumOp,
  dequantizeOp,
  detOp,
  diagonalOp,
  expandLikeOp,
  expandOp,
  flipOp,
  fullOp,
  gatherGradOp,
  gatherOp,
  indexAddOp,
  indexGradOp,
  indexOp,
  indexPutOp,
  inverseOp,
  logAbsDetOp,
  logSoftmaxOp,
  logitCrossEntropyOp,
  matmulOp,
  maxPool2dCodedGradOp,
  maxPool2dCodedOp,
  maxPool2dGradOp,
  maxPool2dOp,
  narrowGradOp,
  narrowOp,
  nllLossGradOp,
  nllLossOp,
  nllLossShareOp,
  normalOp,
  nuclearNormOp,
  packBitsOp,
  permuteOp,
  placeIntoOp,
  placeOp,
  prodOp,
  quantizeOp,
  resampleGradOp,
  resampleOp,
  rollOp,
  scaleGradientOp,
  scatterAddOp,
  scatterOp,
  scatterReduceOp,
  sliceOp,
  smoothL1Op,
  softmaxOp,
  solveOp,
  solveTriangularOp,
  sortOp,
  standardizeAffineGradOp,
  standardizeAffineOp,
  standardizeGradOp,
  standardizeOp,
  standardizeWeightGradOp,
  sumOp,
  sumToOp,
  topkOp,
  unfoldGradOp,
  unfoldOp,
  uniformOp,
  unpackBitsOp,
  unreduceOp,
  viewLikeOp,
  viewOp,
];

/** Every record by name, in the order of definition. */
export const opTable: ReadonlyMap<string, OpRecord> = opsIn(
  copy,
  extremes,
  inPlace,
  literal,
  pointwise,
  pointwiseInPlace,
  ops,
  runningExtremes,
);

export function opNamed(name: string): OpRecord {
  const op = opTable.get(name);
  invariant(op !== undefined, `no op named ${name}`);
  return op;
}
