import type { KernelName } from '../kernel-names.ts';
import {
  addConv2dWeightGrad,
  conv2d,
  conv2dInputGrad,
  conv2dWeightGrad,
  convTranspose2d,
} from './conv/conv.ts';
import type { KernelFactory } from './core/kernel.ts';
import { addMatmul, matmul } from './matmul.ts';
import { copy, copyInto, narrowGrad } from './movement/copies.ts';
import {
  gather,
  gatherGrad,
  index,
  indexAdd,
  indexGrad,
  indexPut,
  scatter,
  scatterAdd,
  scatterReduce,
} from './movement/indexing.ts';
import { cat, flip, place, placeInto, roll, unfoldGrad } from './movement/rearrange.ts';
import {
  adaptiveMaxPool2d,
  maxPool2d,
  maxPool2dCoded,
  maxPool2dCodedGrad,
  maxPool2dGrad,
} from './pool.ts';
import { normal, uniform } from './random.ts';
import { addSum, max, min, prod, sum, sumTo } from './reduce.ts';
import { packBits, unpackBits } from './scalar/bits.ts';
import { cofactors } from './scalar/cofactors.ts';
import { det, inverse, logAbsDet, solve } from './scalar/elimination.ts';
import { arange, fill, literal } from './scalar/fill.ts';
import { nllLoss, nllLossGrad, nllLossShare } from './scalar/loss.ts';
import { sort } from './scalar/order.ts';
import { polygamma } from './scalar/polygamma.ts';
import { dequantize, quantize } from './scalar/quantize.ts';
import { argmax, argmin } from './scalar/reduce.ts';
import { resample, resampleGrad } from './scalar/resample.ts';
import {
  cummax,
  cummin,
  cumprod,
  cumprodGrad,
  cumsum,
  logcumsumexp,
  logcumsumexpGrad,
} from './scalar/scan.ts';
import { nuclearNorm } from './scalar/singular-values.ts';
import { cholesky, solveTriangular } from './scalar/triangular.ts';
import { crossEntropyGrad, logSoftmax, logSoftmaxGrad, softmax, softmaxGrad } from './softmax.ts';
import {
  addStandardizeWeightGrad,
  standardize,
  standardizeGrad,
  standardizeWeightGrad,
} from './standardize.ts';

export const cpuKernels: { readonly [K in KernelName]: KernelFactory } = {
  fill,
  literal,
  uniform,
  normal,
  copy,
  copyInto,
  sum,
  sumTo,
  addSum,
  max,
  min,
  prod,
  argmax,
  argmin,
  cumsum,
  cumprod,
  cumprodGrad,
  cummax,
  cummin,
  logcumsumexp,
  logcumsumexpGrad,
  scatterReduce,
  resample,
  resampleGrad,
  standardize,
  standardizeGrad,
  standardizeWeightGrad,
  addStandardizeWeightGrad,
  nuclearNorm,
  inverse,
  solve,
  solveTriangular,
  det,
  logAbsDet,
  cofactors,
  cholesky,
  polygamma,
  convTranspose2d,
  narrowGrad,
  arange,
  cat,
  flip,
  roll,
  place,
  placeInto,
  unfoldGrad,
  gather,
  gatherGrad,
  scatter,
  scatterAdd,
  index,
  indexGrad,
  indexPut,
  indexAdd,
  sort,
  matmul,
  addMatmul,
  conv2d,
  conv2dInputGrad,
  conv2dWeightGrad,
  addConv2dWeightGrad,
  maxPool2d,
  maxPool2dCoded,
  adaptiveMaxPool2d,
  maxPool2dGrad,
  maxPool2dCodedGrad,
  logSoftmax,
  logSoftmaxGrad,
  softmax,
  softmaxGrad,
  nllLoss,
  nllLossGrad,
  nllLossShare,
  crossEntropyGrad,
  quantize,
  dequantize,
  packBits,
  unpackBits,
};
