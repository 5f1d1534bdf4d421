/** Operators of PyTorch element by element. */

import * as ours from '../../runtime/index.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Adapters, adapter } from './arguments.ts';

type Unary = (x: Tensor) => Tensor;

const unary = (name: string, fn: Unary) =>
  adapter(`${name}(x)`, 'input', (given) => fn(given.tensor('input')));

const binary = (name: string, fn: (a: Tensor, b: Tensor | number) => Tensor) =>
  adapter(`${name}(x, other)`, 'input other', (given) =>
    fn(given.tensor('input'), given.operand('other')),
  );

const ofTensors = (name: string, fn: (a: Tensor, b: Tensor) => Tensor) =>
  adapter(`${name}(x, other)`, 'input other', (given) =>
    fn(given.tensor('input'), given.tensor('other')),
  );

const scaled = (name: string, fn: (a: Tensor, b: Tensor | number, alpha: number) => Tensor) =>
  adapter(`${name}(x, other, { alpha })`, 'input other alpha', (given) =>
    fn(given.tensor('input'), given.operand('other'), given.number('alpha', 1)),
  );

const combined = (name: string, fn: (a: Tensor, b: Tensor, c: Tensor, value: number) => Tensor) =>
  adapter(`${name}(x, a, b, { value })`, 'input tensor1 tensor2 value', (given) =>
    fn(
      given.tensor('input'),
      given.tensor('tensor1'),
      given.tensor('tensor2'),
      given.number('value', 1),
    ),
  );

const rounding = (mode: unknown) => mode as 'floor' | 'trunc' | undefined;

export const pointwiseAdapters: Adapters = {
  abs: unary('abs', ours.abs),
  acos: unary('acos', ours.acos),
  acosh: unary('acosh', ours.acosh),
  asin: unary('asin', ours.asin),
  asinh: unary('asinh', ours.asinh),
  atan: unary('atan', ours.atan),
  atanh: unary('atanh', ours.atanh),
  ceil: unary('ceil', ours.ceil),
  cos: unary('cos', ours.cos),
  cosh: unary('cosh', ours.cosh),
  deg2rad: unary('deg2rad', ours.deg2rad),
  digamma: unary('digamma', ours.digamma),
  erf: unary('erf', ours.erf),
  erfc: unary('erfc', ours.erfc),
  erfinv: unary('erfinv', ours.erfinv),
  exp: unary('exp', ours.exp),
  exp2: unary('exp2', ours.exp2),
  expm1: unary('expm1', ours.expm1),
  floor: unary('floor', ours.floor),
  frac: unary('frac', ours.frac),
  i0: unary('i0', ours.i0),
  'special.i1': unary('i1', ours.i1),
  isfinite: unary('isfinite', ours.isfinite),
  isinf: unary('isinf', ours.isinf),
  isnan: unary('isnan', ours.isnan),
  lgamma: unary('lgamma', ours.lgamma),
  log: unary('log', ours.log),
  log10: unary('log10', ours.log10),
  log1p: unary('log1p', ours.log1p),
  log2: unary('log2', ours.log2),
  logical_not: unary('logicalNot', ours.logicalNot),
  neg: unary('neg', ours.neg),
  positive: unary('positive', ours.positive),
  rad2deg: unary('rad2deg', ours.rad2deg),
  reciprocal: unary('reciprocal', ours.reciprocal),
  rsqrt: unary('rsqrt', ours.rsqrt),
  sgn: unary('sign', ours.sign),
  sigmoid: unary('sigmoid', ours.sigmoid),
  sign: unary('sign', ours.sign),
  signbit: unary('signbit', ours.signbit),
  sin: unary('sin', ours.sin),
  sinc: unary('sinc', ours.sinc),
  sinh: unary('sinh', ours.sinh),
  sqrt: unary('sqrt', ours.sqrt),
  square: unary('square', ours.square),
  tan: unary('tan', ours.tan),
  tanh: unary('tanh', ours.tanh),
  trunc: unary('trunc', ours.trunc),

  atan2: ofTensors('atan2', ours.atan2),
  copysign: binary('copysign', ours.copysign),
  eq: binary('eq', ours.eq),
  fmax: ofTensors('fmax', ours.fmax),
  fmin: ofTensors('fmin', ours.fmin),
  fmod: binary('fmod', ours.fmod),
  float_power: adapter('floatPower(x, exponent)', 'input exponent', (given) =>
    ours.floatPower(given.operand('input'), given.operand('exponent')),
  ),
  floor_divide: binary('floorDivide', ours.floorDivide),
  ge: binary('ge', ours.ge),
  gt: binary('gt', ours.gt),
  heaviside: ofTensors('heaviside', ours.heaviside),
  hypot: ofTensors('hypot', ours.hypot),
  le: binary('le', ours.le),
  logaddexp: ofTensors('logaddexp', ours.logaddexp),
  logaddexp2: ofTensors('logaddexp2', ours.logaddexp2),
  logical_and: ofTensors('logicalAnd', ours.logicalAnd),
  logical_or: ofTensors('logicalOr', ours.logicalOr),
  logical_xor: ofTensors('logicalXor', ours.logicalXor),
  bitwise_and: binary('bitwiseAnd', ours.bitwiseAnd),
  bitwise_left_shift: binary('bitwiseLeftShift', ours.bitwiseLeftShift),
  bitwise_not: unary('bitwiseNot', ours.bitwiseNot),
  bitwise_or: binary('bitwiseOr', ours.bitwiseOr),
  bitwise_right_shift: binary('bitwiseRightShift', ours.bitwiseRightShift),
  bitwise_xor: binary('bitwiseXor', ours.bitwiseXor),
  gcd: binary('gcd', ours.gcd),
  lcm: binary('lcm', ours.lcm),
  lt: binary('lt', ours.lt),
  maximum: ofTensors('maximum', ours.maximum),
  minimum: ofTensors('minimum', ours.minimum),
  mul: binary('mul', ours.mul),
  ne: binary('ne', ours.ne),
  remainder: binary('remainder', ours.remainder),
  true_divide: binary('div', (a, b) => ours.div(a, b)),
  xlogy: binary('xlogy', ours.xlogy),

  add: scaled('add', ours.add),
  sub: scaled('sub', ours.sub),
  rsub: scaled('rsub', ours.rsub),
  addcdiv: combined('addcdiv', ours.addcdiv),
  addcmul: combined('addcmul', ours.addcmul),
  clamp: adapter('clamp(x, { min, max })', 'input min max', (given) => {
    const bound = (name: string) => (given.has(name) ? given.operand(name) : null);
    return ours.clamp(given.tensor('input'), bound('min'), bound('max'));
  }),
  clamp_max: adapter('clampMax(x, max)', 'input max', (given) =>
    ours.clampMax(given.tensor('input'), given.operand('max')),
  ),
  clamp_min: adapter('clampMin(x, min)', 'input min', (given) =>
    ours.clampMin(given.tensor('input'), given.operand('min')),
  ),
  div: adapter('div(x, other, { roundingMode })', 'input other rounding_mode', (given) => {
    const mode = rounding(given.get('rounding_mode'));
    const options = mode ? { roundingMode: mode } : {};
    return ours.div(given.tensor('input'), given.operand('other'), options);
  }),
  fill: adapter('fullLike(x, value)', 'input value', (given) =>
    ours.fill(given.tensor('input'), given.operand('value')),
  ),
  isclose: adapter(
    'isclose(x, other, { rtol, atol, equalNan })',
    'input other rtol atol equal_nan',
    (given) =>
      ours.isclose(given.tensor('input'), given.tensor('other'), {
        rtol: given.number('rtol', 1e-5),
        atol: given.number('atol', 1e-8),
        equalNan: given.flag('equal_nan'),
      }),
  ),
  lerp: adapter('lerp(x, end, weight)', 'input end weight', (given) =>
    ours.lerp(given.tensor('input'), given.tensor('end'), given.operand('weight')),
  ),
  logit: adapter('logit(x, eps)', 'input eps', (given) =>
    ours.logit(given.tensor('input'), given.numberOr('eps', null)),
  ),
  masked_fill: adapter('maskedFill(x, mask, value)', 'input mask value', (given) =>
    ours.maskedFill(given.tensor('input'), given.tensor('mask'), given.operand('value')),
  ),
  nan_to_num: adapter('nanToNum(x, nan, posinf, neginf)', 'input nan posinf neginf', (given) =>
    ours.nanToNum(
      given.tensor('input'),
      given.number('nan', 0),
      given.numberOr('posinf', undefined),
      given.numberOr('neginf', undefined),
    ),
  ),
  pow: adapter('pow(x, exponent)', 'input exponent', (given) =>
    ours.pow(given.operand('input'), given.operand('exponent')),
  ),
  round: adapter('round(x, decimals)', 'input decimals', (given) =>
    ours.round(given.tensor('input'), given.number('decimals', 0)),
  ),
  where: adapter('where(test, x, other)', 'input condition other', (given) =>
    ours.where(given.tensor('condition'), given.operand('input'), given.operand('other')),
  ),
};
