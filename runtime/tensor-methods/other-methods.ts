/** Methods with PyTorch's alternative names, and methods composed of several ops. */

import * as inPlace from '../ops/in-place/in-place.ts';
import * as pointwiseInPlace from '../ops/in-place/pointwise-in-place.ts';
import * as dataDependent from '../ops/indexing/data-dependent.ts';
import { matrixExp } from '../ops/linalg/matrix-exponential.ts';
import { matrixPower } from '../ops/linalg/matrix-power.ts';
import { transpose } from '../ops/movement/movement.ts';
import * as pointwise from '../ops/pointwise/pointwise.ts';
import * as compositions from '../ops/products/compositions.ts';
import * as products from '../ops/products/products.ts';
import { type Sizes, sizesOf } from '../ops/record/positional.ts';
import { dtypes } from '../spec/dtype.ts';
import type { Tensor } from '../tensor/tensor.ts';

export const otherMethods = {
  absolute: pointwise.absolute,
  arccos: pointwise.arccos,
  arccosh: pointwise.arccosh,
  arcsin: pointwise.arcsin,
  arcsinh: pointwise.arcsinh,
  arctan: pointwise.arctan,
  arctan2: pointwise.arctan2,
  arctanh: pointwise.arctanh,
  divide: pointwise.divide,
  trueDivide: pointwise.trueDivide,
  greater: pointwise.greater,
  greaterEqual: pointwise.greaterEqual,
  less: pointwise.less,
  lessEqual: pointwise.lessEqual,
  multiply: pointwise.multiply,
  notEqual: pointwise.notEqual,
  negative: pointwise.negative,
  sgn: pointwise.sgn,
  subtract: pointwise.subtract,
  fix: pointwise.fix,
  isposinf: pointwise.isposinf,
  isneginf: pointwise.isneginf,
  positive: pointwise.positive,
  ravel: compositions.ravel,
  reshapeAs: compositions.reshapeAs,
  adjoint: compositions.adjoint,
  swapdims: transpose,
  hsplit: compositions.hsplit,
  vsplit: compositions.vsplit,
  dsplit: compositions.dsplit,
  sumToSize: (x: Tensor, ...sizes: Sizes): Tensor =>
    compositions.sumToSize(x, sizesOf('sumToSize', sizes)),
  where: compositions.whereElse,
  isin: compositions.isin,
  matrixExp,
  matrixPower,
  cov: compositions.cov,
  corrcoef: compositions.corrcoef,
  argwhere: dataDependent.nonzero,
  ger: products.outer,
  vdot: products.vdot,
  nelement: (x: Tensor): number => x.numel(),
  storageOffset: (x: Tensor): number => x.offset,
  ndimension: (x: Tensor): number => x.rank,
  elementSize: (x: Tensor): number => dtypes[x.dtype].bytes,
  isFloatingPoint: (x: Tensor): boolean => dtypes[x.dtype].floating,
} as const;

export const otherWrites = {
  square_: pointwiseInPlace.square_,
  absolute_: pointwiseInPlace.unaryInPlace.abs_,
  negative_: pointwiseInPlace.unaryInPlace.neg_,
  multiply_: inPlace.mul_,
  subtract_: pointwiseInPlace.sub_,
  divide_: pointwiseInPlace.div_,
  trueDivide_: pointwiseInPlace.div_,
  clip_: pointwiseInPlace.clamp_,
  lerp_: pointwiseInPlace.lerp_,
  xlogy_: pointwiseInPlace.xlogy_,
  floorDivide_: pointwiseInPlace.floorDivide_,
  remainder_: pointwiseInPlace.remainder_,
  fmod_: pointwiseInPlace.fmod_,
  copysign_: pointwiseInPlace.copysign_,
  hypot_: pointwiseInPlace.hypot_,
  clampMin_: pointwiseInPlace.clampMin_,
  clampMax_: pointwiseInPlace.clampMax_,
  nanToNum_: pointwiseInPlace.nanToNum_,
  logicalAnd_: pointwiseInPlace.logicalAnd_,
  logicalOr_: pointwiseInPlace.logicalOr_,
  logicalXor_: pointwiseInPlace.logicalXor_,
  logicalNot_: pointwiseInPlace.logicalNot_,
  cumsum_: pointwiseInPlace.cumsum_,
  cumprod_: pointwiseInPlace.cumprod_,
  tril_: pointwiseInPlace.tril_,
  triu_: pointwiseInPlace.triu_,
} as const;
