/**
 * The kernels that devices write by hand (`kernel-names.ts` says what each does), with those of the CPU. Records of ops
 * refer to them one by one, and nothing refers to all of them: a page downloads only those of its ops.
 */

import type { KernelName } from '../kernel-names.ts';
import type { KernelFactory, NamedKernel } from '../kernel-op.ts';
import * as conv from './conv/conv.ts';
import * as product from './matmul.ts';
import * as copies from './movement/copies.ts';
import * as indexing from './movement/indexing.ts';
import * as rearrange from './movement/rearrange.ts';
import * as pools from './pool.ts';
import * as random from './random.ts';
import * as reductions from './reduce.ts';
import * as bits from './scalar/bits.ts';
import * as cofactor from './scalar/cofactors.ts';
import * as elimination from './scalar/elimination.ts';
import * as filling from './scalar/fill.ts';
import * as losses from './scalar/loss.ts';
import * as orders from './scalar/order.ts';
import * as gammas from './scalar/polygamma.ts';
import * as quantization from './scalar/quantize.ts';
import * as places from './scalar/reduce.ts';
import * as resampling from './scalar/resample.ts';
import * as scans from './scalar/scan.ts';
import * as singularValues from './scalar/singular-values.ts';
import * as triangles from './scalar/triangular.ts';
import * as softmaxes from './softmax.ts';
import * as standardization from './standardize.ts';

function named<N extends KernelName>(name: N, onCpu: KernelFactory): NamedKernel<N> {
  return { kind: 'named', name, onCpu };
}

export const fill = named('fill', filling.fill);
export const literal = named('literal', filling.literal);
export const uniform = named('uniform', random.uniform);
export const normal = named('normal', random.normal);
export const copy = named('copy', copies.copy);
export const copyInto = named('copyInto', copies.copyInto);
export const sum = named('sum', reductions.sum);
export const sumTo = named('sumTo', reductions.sumTo);
export const addSum = named('addSum', reductions.addSum);
export const max = named('max', reductions.max);
export const min = named('min', reductions.min);
export const prod = named('prod', reductions.prod);
export const argmax = named('argmax', places.argmax);
export const argmin = named('argmin', places.argmin);
export const cumsum = named('cumsum', scans.cumsum);
export const cumprod = named('cumprod', scans.cumprod);
export const cumprodGrad = named('cumprodGrad', scans.cumprodGrad);
export const cummax = named('cummax', scans.cummax);
export const cummin = named('cummin', scans.cummin);
export const logcumsumexp = named('logcumsumexp', scans.logcumsumexp);
export const logcumsumexpGrad = named('logcumsumexpGrad', scans.logcumsumexpGrad);
export const scatterReduce = named('scatterReduce', indexing.scatterReduce);
export const resample = named('resample', resampling.resample);
export const resampleGrad = named('resampleGrad', resampling.resampleGrad);
export const standardize = named('standardize', standardization.standardize);
export const standardizeGrad = named('standardizeGrad', standardization.standardizeGrad);
export const standardizeWeightGrad = named(
  'standardizeWeightGrad',
  standardization.standardizeWeightGrad,
);
export const addStandardizeWeightGrad = named(
  'addStandardizeWeightGrad',
  standardization.addStandardizeWeightGrad,
);
export const nuclearNorm = named('nuclearNorm', singularValues.nuclearNorm);
export const inverse = named('inverse', elimination.inverse);
export const solve = named('solve', elimination.solve);
export const solveTriangular = named('solveTriangular', triangles.solveTriangular);
export const det = named('det', elimination.det);
export const logAbsDet = named('logAbsDet', elimination.logAbsDet);
export const cofactors = named('cofactors', cofactor.cofactors);
export const cholesky = named('cholesky', triangles.cholesky);
export const polygamma = named('polygamma', gammas.polygamma);
export const convTranspose2d = named('convTranspose2d', conv.convTranspose2d);
export const narrowGrad = named('narrowGrad', copies.narrowGrad);
export const arange = named('arange', filling.arange);
export const cat = named('cat', rearrange.cat);
export const flip = named('flip', rearrange.flip);
export const roll = named('roll', rearrange.roll);
export const place = named('place', rearrange.place);
export const placeInto = named('placeInto', rearrange.placeInto);
export const unfoldGrad = named('unfoldGrad', rearrange.unfoldGrad);
export const gather = named('gather', indexing.gather);
export const gatherGrad = named('gatherGrad', indexing.gatherGrad);
export const scatter = named('scatter', indexing.scatter);
export const scatterAdd = named('scatterAdd', indexing.scatterAdd);
export const index = named('index', indexing.index);
export const indexGrad = named('indexGrad', indexing.indexGrad);
export const indexPut = named('indexPut', indexing.indexPut);
export const indexAdd = named('indexAdd', indexing.indexAdd);
export const sort = named('sort', orders.sort);
export const matmul = named('matmul', product.matmul);
export const addMatmul = named('addMatmul', product.addMatmul);
export const conv2d = named('conv2d', conv.conv2d);
export const conv2dInputGrad = named('conv2dInputGrad', conv.conv2dInputGrad);
export const conv2dWeightGrad = named('conv2dWeightGrad', conv.conv2dWeightGrad);
export const addConv2dWeightGrad = named('addConv2dWeightGrad', conv.addConv2dWeightGrad);
export const maxPool2d = named('maxPool2d', pools.maxPool2d);
export const maxPool2dCoded = named('maxPool2dCoded', pools.maxPool2dCoded);
export const adaptiveMaxPool2d = named('adaptiveMaxPool2d', pools.adaptiveMaxPool2d);
export const maxPool2dGrad = named('maxPool2dGrad', pools.maxPool2dGrad);
export const maxPool2dCodedGrad = named('maxPool2dCodedGrad', pools.maxPool2dCodedGrad);
export const logSoftmax = named('logSoftmax', softmaxes.logSoftmax);
export const logSoftmaxGrad = named('logSoftmaxGrad', softmaxes.logSoftmaxGrad);
export const softmax = named('softmax', softmaxes.softmax);
export const softmaxGrad = named('softmaxGrad', softmaxes.softmaxGrad);
export const nllLoss = named('nllLoss', losses.nllLoss);
export const nllLossGrad = named('nllLossGrad', losses.nllLossGrad);
export const nllLossShare = named('nllLossShare', losses.nllLossShare);
export const crossEntropyGrad = named('crossEntropyGrad', softmaxes.crossEntropyGrad);
export const quantize = named('quantize', quantization.quantize);
export const dequantize = named('dequantize', quantization.dequantize);
export const packBits = named('packBits', bits.packBits);
export const unpackBits = named('unpackBits', bits.unpackBits);
