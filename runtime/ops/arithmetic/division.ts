import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { oneOf, orNull } from '../../options/option-kinds.ts';
import { dtypes, promote } from '../../spec/dtype.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { sumTo } from '../core/broadcast.ts';
import { casting } from '../core/cast.ts';
import {
  bindFloat,
  counted,
  floating,
  inferBinary,
  inferFloat,
  inferSame,
  joinedBy,
  type Operand,
  pointwise,
} from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import * as F from '../expr/exact-functions.ts';
import { E, type Expr } from '../expr/expr.ts';
import { equals, power } from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp, expectTensor, type OpRecord, saving } from '../record/define-op.ts';
import { expectOperand, expectTensors } from '../record/expect-tensors.ts';
import { expectWhole, type Keyword, numberFrom } from '../record/positional.ts';
import { mul, neg, sub } from './arithmetic.ts';

const x = E.input(0);
const y = E.input(1);
const value = E.attr('value');

export const divOp = defineOp({
  name: 'div',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('div'),
  kernel: pointwise(E.div(x, y)),
  vjp: {
    x: saving({ x: 'shape', y: 'value' }, ({ x, y }, dy) => sumTo(div(dy, y), x)),
    // d(x/y)/dy = −(x/y)/y
    y: saving({ out: 'value', y: 'value' }, ({ out, y }, dy) =>
      sumTo(neg(div(mul(dy, out), y)), y),
    ),
  },
});

export const divScalarOp: OpRecord = defineOp({
  name: 'divScalar',
  operands: { x: 'data' },
  infer: inferFloat('div'),
  kernel: pointwise(E.div(x, value)),
  vjp: { x: saving({}, (_saved, dy, { value }) => bind1(divScalarOp, [dy], { value: value! })) },
});

// Rounding

/** Integers are left unchanged. */
function rounding(name: 'floor' | 'ceil' | 'trunc' | 'round') {
  const op = defineOp({
    name,
    operands: { x: 'data' },
    infer: inferSame,
    kernel: pointwise(E[name](x)),
    flat: true,
  });
  return (a: Tensor): Tensor => bind1(op, [a]);
}

/** The largest integer ≤ x. No gradient. */
export const floor = rounding('floor');
/** The smallest integer ≥ x. No gradient. */
export const ceil = rounding('ceil');
/** x without its fraction. No gradient. */
export const trunc = rounding('trunc');
const roundToInteger = rounding('round');

/** Rounds half to even, as in PyTorch; keeps `decimals` decimal places. */
export function round(a: Tensor, decimalsOrOptions: Keyword<'decimals'> = 0): Tensor {
  expectTensors('round', a);
  const decimals = numberFrom('round', 'decimals', decimalsOrOptions, 0);
  if (equals(decimals, 0)) return roundToInteger(a);
  expectWhole('round', 'decimals', decimals);
  if (anyHalf(a)) return roundedOnce([a], (converted) => round(converted, decimals));
  const scale = power(10, decimals);
  return tidy(() => div(roundToInteger(mul(a, scale)), scale));
}

/** The fractional part, with the sign of the number. */
export const frac = (a: Tensor): Tensor => {
  expectTensors('frac', a);
  return naming('frac', () => tidy(() => sub(a, trunc(a))));
};

// Integer quotients and remainders

interface Division {
  readonly float: (x: Expr, y: Expr) => Expr;
  readonly int: (x: Expr, y: Expr) => Expr;
  /** Returns the quotient that the remainder belongs to; null if the result is itself a quotient. */
  readonly quotient: ((a: Tensor, b: Operand) => Tensor) | null;
}

/** Defines a division for tensor and tensor, or tensor and number, in float32 and int32. */
function division(name: string, { float, int, quotient }: Division) {
  const remainderGradients = quotient && {
    x: saving({ x: 'shape' }, ({ x }, dy) => sumTo(dy, x)),
    y: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(neg(mul(dy, quotient(x, y))), y)),
  };
  const records = (suffix: string, expr: Division['float'], differentiable: boolean) => ({
    tensor: defineOp({
      name: `${name}${suffix}`,
      operands: { x: 'data', y: 'data' },
      infer: inferBinary(name),
      kernel: pointwise(expr(x, y)),
      ...(remainderGradients && differentiable ? { vjp: remainderGradients } : { flat: true }),
    }),
    scalar: defineOp({
      name: `${name}${suffix}Scalar`,
      operands: { x: 'data' },
      infer: inferSame,
      kernel: pointwise(expr(x, value)),
      ...(remainderGradients && differentiable
        ? { vjp: { x: saving({}, (_saved, dy) => dy) } }
        : { flat: true }),
    }),
  });
  const [floats, ints] = [records('', float, true), records('Int', int, false)];
  return (a: Tensor, b: Operand): Tensor => {
    expectTensor(floats.tensor, a);
    if (!isNumber(b)) expectTensor(floats.tensor, b);
    const joined = isNumber(b) ? joinedBy(a.dtype, b) : promote(a.dtype, b.dtype);
    const dtype = counted(joined);
    const ops = dtypes[dtype].floating ? floats : ints;
    return isNumber(b)
      ? casting([a], dtype, (operands) => bind1(ops.scalar, operands, { value: b }))
      : casting([a, b], dtype, (operands) => bind1(ops.tensor, operands));
  };
}

/** The quotient rounded down; dividing by 0 gives an infinity or NaN in float32, 0 in int32. */
export const floorDivide = division('floorDivide', {
  float: F.floorDivide,
  int: F.floorDivideInt,
  quotient: null,
});

const truncDivide = division('truncDivide', {
  float: (x, y) => E.trunc(E.div(x, y)),
  int: E.quotient,
  quotient: null,
});

/** The remainder with the sign of the divisor, like Python's `%`. */
export const remainder = division('remainder', {
  float: F.remainder,
  int: F.remainder,
  quotient: floorDivide,
});

/** The remainder with the sign of the dividend, like JavaScript's `%`. */
export const fmod = division('fmod', { float: E.rem, int: E.rem, quotient: truncDivide });

export interface DivOptions {
  /** Rounds the quotient; two integer tensors then give integers. */
  readonly roundingMode?: 'floor' | 'trunc' | null;
}

const divOptions = { roundingMode: orNull(oneOf('floor', 'trunc')) };

/** True division; integers are divided as float32. */
export function div(a: Tensor, b: Operand, options: DivOptions = {}): Tensor {
  expectTensors('div', a);
  expectOperand('div', b);
  expectOptions('div', options, divOptions);
  const { roundingMode = null } = options;
  if (roundingMode) return (roundingMode === 'floor' ? floorDivide : truncDivide)(a, b);
  if (isNumber(b)) return bindFloat(divScalarOp, a, { value: b });
  expectTensor(divOp, b);
  return casting([a, b], floating(promote(a.dtype, b.dtype)), (operands) => bind1(divOp, operands));
}
