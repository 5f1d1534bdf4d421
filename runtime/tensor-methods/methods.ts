/** Tensor methods by PyTorch's names: each is the op of the same name with `this` as its first operand. */

import {
  defineAbsent,
  defineSnakeCase,
  defineUnassignable,
  snakeCase,
} from '../errors/absent-names.ts';
import { cast } from '../ops/core/cast.ts';
import { newTensor } from '../ops/core/create.ts';
import * as filled from '../ops/in-place/filled.ts';
import * as inPlace from '../ops/in-place/in-place.ts';
import * as pointwiseInPlace from '../ops/in-place/pointwise-in-place.ts';
import { norm } from '../ops/linalg/norm.ts';
import * as movement from '../ops/movement/movement.ts';
import * as ranges from '../ops/movement/ranges.ts';
import { logSoftmax, softmax } from '../ops/normalization/softmax.ts';
import * as pointwise from '../ops/pointwise/pointwise.ts';
import * as matrix from '../ops/products/matmul.ts';
import * as random from '../ops/random/random.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import * as extremes from '../ops/reduce/extremes.ts';
import * as reduce from '../ops/reduce/reduce.ts';
import * as scans from '../ops/reduce/scans.ts';
import * as statistics from '../ops/reduce/statistics.ts';
import type { DType } from '../spec/dtype.ts';
import { Tensor } from '../tensor/tensor.ts';
import { type AbsentMethods, absentMethods } from './absent-methods.ts';
import { arrangementMethods, transposes } from './arrangement-methods.ts';
import { baseMethods } from './base-methods.ts';
import { type AnyMethod, defineAll } from './define-method.ts';
import { functionMethods, overloadedFunctions } from './function-methods.ts';
import type { TensorMethods } from './method-types.ts';
import { otherMethods, otherWrites } from './other-methods.ts';
import { moveTo } from './transfer.ts';

const unaryMethods = {
  neg: pointwise.neg,
  abs: pointwise.abs,
  sign: pointwise.sign,
  exp: pointwise.exp,
  log: pointwise.log,
  sqrt: pointwise.sqrt,
  tanh: pointwise.tanh,
  sigmoid: pointwise.sigmoid,
  relu: pointwise.relu,
  contiguous: movement.contiguous,
} as const;

const pointwiseMethods = {
  minimum: pointwise.minimum,
  clamp: pointwise.clamp,
  clip: pointwise.clip,
  clampMin: pointwise.clampMin,
  clampMax: pointwise.clampMax,
  lerp: pointwise.lerp,
  xlogy: pointwise.xlogy,
  addcmul: pointwise.addcmul,
  addcdiv: pointwise.addcdiv,
  nanToNum: pointwise.nanToNum,
  logicalAnd: pointwise.logicalAnd,
  logicalOr: pointwise.logicalOr,
  logicalXor: pointwise.logicalXor,
  logicalNot: pointwise.logicalNot,
  isnan: pointwise.isnan,
  isinf: pointwise.isinf,
  isfinite: pointwise.isfinite,
  maskedFill: pointwise.maskedFill,
  floor: pointwise.floor,
  ceil: pointwise.ceil,
  trunc: pointwise.trunc,
  round: pointwise.round,
  frac: pointwise.frac,
  floorDivide: pointwise.floorDivide,
  remainder: pointwise.remainder,
  fmod: pointwise.fmod,
  square: pointwise.square,
  rsqrt: pointwise.rsqrt,
  reciprocal: pointwise.reciprocal,
  exp2: pointwise.exp2,
  expm1: pointwise.expm1,
  log2: pointwise.log2,
  log10: pointwise.log10,
  log1p: pointwise.log1p,
  sin: pointwise.sin,
  cos: pointwise.cos,
  tan: pointwise.tan,
  asin: pointwise.asin,
  acos: pointwise.acos,
  atan: pointwise.atan,
  atan2: pointwise.atan2,
  sinh: pointwise.sinh,
  cosh: pointwise.cosh,
  asinh: pointwise.asinh,
  acosh: pointwise.acosh,
  atanh: pointwise.atanh,
  erf: pointwise.erf,
  erfc: pointwise.erfc,
  elu: pointwise.elu,
  selu: pointwise.selu,
  leakyRelu: pointwise.leakyRelu,
  hardtanh: pointwise.hardtanh,
  relu6: pointwise.relu6,
  hardsigmoid: pointwise.hardsigmoid,
  hardswish: pointwise.hardswish,
  silu: pointwise.silu,
  softplus: pointwise.softplus,
  logSigmoid: pointwise.logSigmoid,
  softsign: pointwise.softsign,
  mish: pointwise.mish,
  gelu: pointwise.gelu,
} as const;

/** Casts named after the dtype. */
const castMethods = {
  bool: (x: Tensor): Tensor => cast(x, 'bool'),
  int: (x: Tensor): Tensor => cast(x, 'int32'),
  // There is no int64: PyTorch's long tensors are int32 here.
  long: (x: Tensor): Tensor => cast(x, 'int32'),
  float: (x: Tensor): Tensor => cast(x, 'float32'),
  double: (x: Tensor): Tensor => cast(x, 'float64'),
  byte: (x: Tensor): Tensor => cast(x, 'uint8'),
  half: (x: Tensor): Tensor => cast(x, 'float16'),
  bfloat16: (x: Tensor): Tensor => cast(x, 'bfloat16'),
  typeAs: (x: Tensor, other: Tensor): Tensor => {
    expectTensors('typeAs', other);
    return cast(x, other.dtype);
  },
} as const;

/** Return types are in `method-types.ts`. */
const methods = {
  ...unaryMethods,
  ...pointwiseMethods,
  ...castMethods,
  add: pointwise.add,
  sub: pointwise.sub,
  mul: pointwise.mul,
  div: pointwise.div,
  pow: (x: Tensor, exponent: pointwise.Operand): Tensor => pointwise.pow(x, exponent),
  maximum: pointwise.maximum,
  dim: (x: Tensor): number => x.rank,
  cpu: (x: Tensor): Tensor => moveTo(x, 'cpu'),
  newTensor,
  newZeros: ranges.newZeros,
  newOnes: ranges.newOnes,
  newFull: ranges.newFull,
  newEmpty: ranges.newEmpty,
  eq: pointwise.eq,
  ne: pointwise.ne,
  lt: pointwise.lt,
  le: pointwise.le,
  gt: pointwise.gt,
  ge: pointwise.ge,
  sum: reduce.sum,
  mean: reduce.mean,
  amax: extremes.amax,
  amin: extremes.amin,
  argmax: extremes.argmax,
  argmin: extremes.argmin,
  prod: scans.prod,
  cumsum: scans.cumsum,
  cumprod: scans.cumprod,
  var: statistics.variance,
  std: statistics.std,
  norm,
  logsumexp: statistics.logsumexp,
  any: statistics.any,
  all: statistics.all,
  countNonzero: statistics.countNonzero,
  softmax,
  logSoftmax,
  matmul: matrix.matmul,
  ...arrangementMethods,
  ...functionMethods,
  ...otherMethods,
  ...otherWrites,
  add_: inPlace.add_,
  mul_: inPlace.mul_,
  fill_: filled.fill_,
  copy_: inPlace.copy_,
  addcmul_: inPlace.addcmul_,
  addcdiv_: inPlace.addcdiv_,
  ...pointwiseInPlace.unaryInPlace,
  sub_: pointwiseInPlace.sub_,
  round_: pointwiseInPlace.round_,
  div_: pointwiseInPlace.div_,
  pow_: pointwiseInPlace.pow_,
  clamp_: pointwiseInPlace.clamp_,
  minimum_: pointwiseInPlace.minimum_,
  maximum_: pointwiseInPlace.maximum_,
  zero_: filled.zero_,
} as const;

/** Typed in `TensorMethods`. */
const drawingMethods = {
  bernoulli: random.bernoulli,
  multinomial: random.multinomial,
  uniform_: random.uniform_,
  normal_: random.normal_,
  exponential_: random.exponential_,
  logNormal_: random.logNormal_,
  cauchy_: random.cauchy_,
  bernoulli_: random.bernoulli_,
  random_: random.random_,
} as const;

/** Typed in `TensorMethods`. */
const overloaded = { max: extremes.max, min: extremes.min, ...overloadedFunctions } as const;

export type Methods = typeof methods;

declare module '../tensor/tensor.ts' {
  // biome-ignore lint/suspicious/noExplicitAny: as in the class.
  interface Tensor<D extends DType = any> extends TensorMethods<D>, AbsentMethods {}
}

/** Installs a function of a tensor on the prototype as a property. */
function defineProperty(name: string, fn: (x: Tensor) => Tensor): [string, typeof fn] {
  const get = function (this: Tensor) {
    return fn(this);
  };
  Object.defineProperty(Tensor.prototype, name, { get, configurable: true });
  return [name, fn];
}

/** The methods, grouped by how a compiler may treat them. */
export const tensorMethods: {
  /** Depend only on their arguments: calls can be appended to a program. */
  readonly traced: readonly AnyMethod[];
  /** The properties, by name. */
  readonly properties: ReadonlyMap<string, (x: Tensor) => Tensor>;
  /** Draw random numbers. */
  readonly draws: readonly AnyMethod[];
  /** Read data. */
  readonly reads: readonly AnyMethod[];
} = {
  traced: [...baseMethods.traced, ...defineAll({ ...methods, ...overloaded })],
  properties: new Map(Object.entries(transposes).map(([name, fn]) => defineProperty(name, fn))),
  draws: defineAll(drawingMethods),
  reads: baseMethods.reads,
};
defineAbsent(Tensor.prototype, 'Tensor', absentMethods);
const leaf = 'x.requiresGrad reads it, x.requiresGrad_() sets it';
const { get } = Object.getOwnPropertyDescriptor(Tensor.prototype, 'requiresGrad')!;
defineUnassignable(Tensor.prototype, 'requiresGrad', leaf, get);
defineUnassignable(Tensor.prototype, 'requires_grad', leaf);
defineSnakeCase(Tensor.prototype, 'Tensor');
for (const name of ['isLeaf', 'isContiguous']) {
  const remedy = `names are camel case: x.${name}`;
  defineUnassignable(Tensor.prototype, snakeCase(name), remedy);
}
// JavaScript code that indexes a tensor reads 0 first; TypeScript rejects any index.
defineUnassignable(Tensor.prototype, '0', 'x.index(0) is the row 0, x.index(0, 1) the element');
// A loop up to x.length would have no iterations.
defineUnassignable(
  Tensor.prototype,
  'length',
  'x.shape[0] is the number of rows, x.numel() of elements',
);
// In PyTorch `w.data = x` replaces the elements; here it would only hide the method.
Object.defineProperty(Tensor.prototype, 'data', { writable: false });
