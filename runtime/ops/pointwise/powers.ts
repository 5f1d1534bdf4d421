/** Powers, roots and inverses. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { dtypes, promote } from '../../spec/dtype.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul, neg, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { log } from '../arithmetic/functions.ts';
import { logicalAnd } from '../arithmetic/logic.ts';
import { bind1 } from '../core/bind.ts';
import { sumTo } from '../core/broadcast.ts';
import { casting } from '../core/cast.ts';
import {
  bindFloat,
  counted,
  inferBinary,
  inferFloat,
  inferSame,
  joinedBy,
  type Operand,
  pointwise,
} from '../core/promotion.ts';
import { E } from '../expr/expr.ts';
import { equals, isBelow, logarithm, minus } from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp, expectTensor, saving } from '../record/define-op.ts';
import { expectOperand, expectTensors } from '../record/expect-tensors.ts';
import { dropWhere, eq, ge } from './comparison.ts';

const x = E.input(0);
const y = E.input(1);
const value = E.attr('value');

export const powScalarOp = defineOp({
  name: 'powScalar',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.pow(x, value)),
  vjp: {
    x: saving({ x: 'value' }, ({ x }, dy, { value }) => {
      const exponent = value as number;
      // x⁰ is constant; the formula would give 0·∞ for x = 0.
      if (equals(exponent, 0)) return mul(dy, 0);
      return mul(dy, mul(pow(x, minus(exponent, 1)), exponent));
    }),
  },
});

export const powBaseOp = defineOp({
  name: 'powBaseScalar',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.pow(value, x)),
  vjp: {
    x: saving({ out: 'value' }, ({ out }, dy, { value }) =>
      equals(value as number, 0) ? mul(dy, 0) : mul(mul(dy, out), logarithm(value as number)),
    ),
  },
});

export const powOp = defineOp({
  name: 'pow',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('pow'),
  kernel: pointwise(E.pow(x, y)),
  vjp: {
    // Constant for exponent 0, regardless of the formula.
    x: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => {
      const slope = mul(mul(dy, y), pow(x, sub(y, 1)));
      return sumTo(dropWhere(slope, eq(y, 0)), x);
    }),
    y: saving({ x: 'value', y: 'value', out: 'value' }, ({ x, y, out }, dy) => {
      // 0ʸ is constant for y ≥ 0; the formula would give 0·∞.
      const constant = logicalAnd(eq(x, 0), ge(y, 0));
      return sumTo(dropWhere(mul(mul(dy, out), log(x)), constant), y);
    }),
  },
});

/**
 * Raises to a power; either operand may be a number. Integer powers of integers are exact integers (modulo 2^32); as in
 * PyTorch, a negative number as exponent of integers is rejected.
 */
export function pow(base: Operand, exponent: Operand): Tensor {
  expectOperand('pow', base);
  expectOperand('pow', exponent);
  if (isNumber(exponent)) {
    const tensor = base as Tensor;
    expectTensor(powScalarOp, tensor);
    return powNumber(tensor, exponent);
  }
  expectTensor(powOp, exponent);
  if (isNumber(base)) {
    const dtype = joinedBy(exponent.dtype, base);
    return casting([exponent], dtype, (operands) => bind1(powBaseOp, operands, { value: base }));
  }
  const dtype = counted(promote(base.dtype, exponent.dtype));
  return casting([base, exponent], dtype, (operands) => bind1(powOp, operands));
}

function powNumber(base: Tensor, exponent: number): Tensor {
  const dtype = joinedBy(base.dtype, exponent);
  if (!dtypes[dtype].floating && isBelow(exponent, 0)) {
    throw new ArgumentError({
      what: 'pow: a negative power of integers',
      given: `${formatSpec(base)} to the power of ${exponent}`,
      expected: 'an exponent from 0 on, or float32',
      remedy: "cast first: x.to('float32').pow(…)",
    });
  }
  return casting([base], dtype, (operands) => bind1(powScalarOp, operands, { value: exponent }));
}

/** x² */
export const square = (a: Tensor): Tensor => {
  expectTensors('square', a);
  return pow(a, 2);
};

export const sqrtOp = defineOp({
  name: 'sqrt',
  operands: { x: 'data' },
  infer: inferFloat('sqrt'),
  kernel: pointwise(E.sqrt(x)),
  vjp: { x: saving({ out: 'value' }, ({ out }, dy) => div(mul(dy, 0.5), out)) },
});

export const reciprocalOp = defineOp({
  name: 'reciprocal',
  operands: { x: 'data' },
  infer: inferFloat('reciprocal'),
  kernel: pointwise(E.div(E.const(1), x)),
  vjp: { x: saving({ out: 'value' }, ({ out }, dy) => neg(mul(dy, mul(out, out)))) },
});

/** √x; NaN below 0. */
export const sqrt = (a: Tensor): Tensor => {
  expectTensors('sqrt', a);
  return bindFloat(sqrtOp, a);
};
/** 1/x */
export const reciprocal = (a: Tensor): Tensor => {
  expectTensors('reciprocal', a);
  return bindFloat(reciprocalOp, a);
};
