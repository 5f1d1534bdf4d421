/** PyTorch's alternative names for pointwise ops. */

import type { Tensor } from '../../tensor/tensor.ts';
import { abs, mul, neg, sign, sub } from '../arithmetic/arithmetic.ts';
import { div, trunc } from '../arithmetic/division.ts';
import { acos, acosh, asin, asinh, atan, atanh } from '../arithmetic/functions.ts';
import { eq, ge, gt, le, lt, ne } from './comparison.ts';

export { atan2 as arctan2 } from './atan2.ts';
export {
  abs as absolute,
  acos as arccos,
  acosh as arccosh,
  asin as arcsin,
  asinh as arcsinh,
  atan as arctan,
  atanh as arctanh,
  div as divide,
  div as trueDivide,
  ge as greaterEqual,
  gt as greater,
  le as lessEqual,
  lt as less,
  mul as multiply,
  ne as notEqual,
  neg as negative,
  sign as sgn,
  sub as subtract,
  trunc as fix,
};

/** True where the value is Infinity. */
export const isposinf = (x: Tensor): Tensor<'bool'> =>
  eq(x, Number.POSITIVE_INFINITY) as Tensor<'bool'>;

/** True where the value is −Infinity. */
export const isneginf = (x: Tensor): Tensor<'bool'> =>
  eq(x, Number.NEGATIVE_INFINITY) as Tensor<'bool'>;
