import type { KernelName } from '../../ops/kernel-names.ts';
import { conv2d, conv2dInputGrad, conv2dWeightGrad } from './conv.ts';
import { copy, copyInto, narrowGrad } from './copies.ts';
import type { KernelFactory } from './kernel.ts';
import { matmul } from './matmul.ts';
import { maxPool2d, maxPool2dGrad } from './pool.ts';
import { normal, uniform } from './random.ts';
import { cat, flip, place, unfoldGrad } from './rearrange.ts';
import { max, min, prod, sum, sumTo } from './reduce.ts';
import { arange, fill } from './scalar/fill.ts';
import {
  gather,
  gatherGrad,
  index,
  indexAdd,
  indexGrad,
  indexPut,
  scatter,
  scatterAdd,
} from './scalar/indexing.ts';
import { nllLoss, nllLossGrad } from './scalar/loss.ts';
import { sort } from './scalar/order.ts';
import { argmax, argmin } from './scalar/reduce.ts';
import { cumprod, cumprodGrad, cumsum } from './scalar/scan.ts';
import { logSoftmax, logSoftmaxGrad, softmax, softmaxGrad } from './softmax.ts';

export const cpuKernels: { readonly [K in KernelName]: KernelFactory } = {
  fill,
  uniform,
  normal,
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
  narrowGrad,
  arange,
  cat,
  flip,
  place,
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
  maxPool2dGrad,
  logSoftmax,
  logSoftmaxGrad,
  softmax,
  softmaxGrad,
  nllLoss,
  nllLossGrad,
};
