import type { KernelName } from '../../kernel-names.ts';
import { conv2d, conv2dInputGrad, conv2dWeightGrad, convTranspose2d } from './conv.ts';
import {
  gather,
  gatherGrad,
  index,
  indexAdd,
  indexGrad,
  indexPut,
  scatter,
  scatterAdd,
} from './indexing.ts';
import { crossEntropyGrad, nllLoss, nllLossGrad, nllLossShare } from './loss.ts';
import { matmul } from './matmul.ts';
import { copy, copyInto, fill, narrowGrad } from './movement.ts';
import type { NamedPlan } from './named-plan.ts';
import { sort } from './order.ts';
import { maxPool2d, maxPool2dGrad } from './pool.ts';
import { arange, cat, flip, place, placeInto, roll, unfoldGrad } from './rearrange.ts';
import { argmax, argmin, max, min, prod, sum, sumTo } from './reduce.ts';
import { cumprod, cumprodGrad, cumsum } from './scan.ts';
import { logSoftmax, logSoftmaxGrad, softmax, softmaxGrad } from './softmax.ts';

/** Computed by JavaScript and uploaded. */
type HostKernel = RandomKernel | 'literal';

/**
 * Drawn on the CPU and uploaded, unless our own kernels are used: gpu.js computes in float32, but the generator
 * needs 32-bit integers.
 */
type RandomKernel = 'uniform' | 'normal';

export function isRandomKernel(name: KernelName): name is RandomKernel {
  return name === 'uniform' || name === 'normal';
}

export function isHostKernel(name: KernelName): name is HostKernel {
  return isRandomKernel(name) || name === 'literal';
}

/** Null for kernels that the CPU computes; `docs/gpu.md` lists them. */
export const gpuKernels: { readonly [K in Exclude<KernelName, HostKernel>]: NamedPlan | null } = {
  fill,
  copy,
  copyInto,
  sum,
  sumTo,
  max,
  min,
  prod,
  argmax,
  argmin,
  cumsum,
  cumprod,
  cumprodGrad,
  convTranspose2d,
  integerPairs: null,
  singularVectors: null,
  pseudoinverse: null,
  symmetricEigen: null,
  orthogonalFactors: null,
  inverse: null,
  solve: null,
  solveTriangular: null,
  det: null,
  logAbsDet: null,
  luFactors: null,
  luPivots: null,
  luRows: null,
  gammaSlope: null,
  matrixExp: null,
  cofactors: null,
  cholesky: null,
  polygamma: null,
  cummax: null,
  cummin: null,
  logcumsumexp: null,
  logcumsumexpGrad: null,
  scatterReduce: null,
  resample: null,
  resampleGrad: null,
  standardize: null,
  standardizeByStats: null,
  standardizeGrad: null,
  standardizeWeightGrad: null,
  addStandardizeWeightGrad: null,
  addMatmul: null,
  addSum: null,
  addConv2dWeightGrad: null,
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
  conv2d,
  conv2dInputGrad,
  conv2dWeightGrad,
  maxPool2d,
  // gpu.js has no uint8.
  maxPool2dCoded: null,
  adaptiveMaxPool2d: null,
  maxPool2dGrad,
  maxPool2dCodedGrad: null,
  logSoftmax,
  logSoftmaxGrad,
  softmax,
  softmaxGrad,
  nllLoss,
  labelScores: null,
  nllLossOfScores: null,
  nllLossGrad,
  nllLossShare,
  crossEntropyGrad,
  quantize: null,
  dequantize: null,
  packBits: null,
  unpackBits: null,
};
