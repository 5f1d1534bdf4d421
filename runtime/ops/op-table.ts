/**
 * The ops by name, for programs: their files and the passes on them name ops that no function of a page calls. This file
 * refers to every module that defines an op.
 */

import { invariant } from '../errors/invariant.ts';
import { scaleGradientOp } from './advanced-indexing/embedding.ts';
import * as scatterReduce from './advanced-indexing/scatter-reduce.ts';
import * as rearrange from './arranging/rearrange.ts';
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
import * as bits from './core/bits.ts';
import * as broadcast from './core/broadcast.ts';
import * as copy from './core/copy.ts';
import * as literal from './core/literal.ts';
import * as quantize from './core/quantize.ts';
import * as inPlace from './in-place/in-place.ts';
import * as pointwiseInPlace from './in-place/pointwise-in-place.ts';
import * as gather from './indexing/gather.ts';
import * as indexing from './indexing/indexing.ts';
import * as cholesky from './linalg/cholesky.ts';
import * as determinants from './linalg/determinants.ts';
import * as linearSystems from './linalg/linear-systems.ts';
import { binaryCrossEntropyOp, logitCrossEntropyOp } from './loss/probability-losses.ts';
import { smoothL1Op } from './loss/regression-losses.ts';
import * as create from './movement/create.ts';
import * as joining from './movement/joining.ts';
import * as movement from './movement/movement.ts';
import * as place from './movement/place.ts';
import * as ranges from './movement/ranges.ts';
import * as views from './movement/views.ts';
import { unfoldGradOp, unfoldOp } from './movement/windows.ts';
import * as softmax from './normalization/softmax.ts';
import * as standardize from './normalization/standardize.ts';
import * as pointwise from './pointwise/pointwise.ts';
import * as matmul from './products/matmul.ts';
import { type OpRecord, opsIn } from './record/define-op.ts';
import * as extremes from './reduce/extremes.ts';
import * as nuclearNorm from './reduce/nuclear-norm.ts';
import * as order from './reduce/order.ts';
import * as reduce from './reduce/reduce.ts';
import * as runningExtremes from './reduce/running-extremes.ts';
import * as scans from './reduce/scans.ts';

/** Ops of modules with larger functions beside them, which a loader of programs needs none of. */
const ops = [
  adaptiveMaxPool2dOp,
  addConv2dWeightGradOp,
  binaryCrossEntropyOp,
  conv2dInputGradOp,
  conv2dOp,
  conv2dWeightGradOp,
  convTranspose2dOp,
  logitCrossEntropyOp,
  maxPool2dCodedGradOp,
  maxPool2dCodedOp,
  maxPool2dGradOp,
  maxPool2dOp,
  resampleGradOp,
  resampleOp,
  scaleGradientOp,
  smoothL1Op,
  unfoldGradOp,
  unfoldOp,
];

/** Every record by name, in the order of definition. */
export const opTable: ReadonlyMap<string, OpRecord> = opsIn(
  bits,
  broadcast,
  cholesky,
  copy,
  create,
  determinants,
  extremes,
  gather,
  inPlace,
  indexing,
  joining,
  linearSystems,
  literal,
  matmul,
  movement,
  nuclearNorm,
  order,
  place,
  pointwise,
  pointwiseInPlace,
  quantize,
  ranges,
  rearrange,
  reduce,
  ops,
  runningExtremes,
  scans,
  scatterReduce,
  softmax,
  standardize,
  views,
);

export function opNamed(name: string): OpRecord {
  const op = opTable.get(name);
  invariant(op !== undefined, `no op named ${name}`);
  return op;
}
