import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { sumTo } from '../core/broadcast.ts';
import {
  bindNumber,
  bindPromoted,
  inferBinary,
  inferSame,
  type Operand,
  pointwise,
  rejectBool,
} from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import * as F from '../expr/exact-functions.ts';
import { E } from '../expr/expr.ts';
import { negated, product } from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectOperand, expectTensors } from '../record/expect-tensors.ts';
import { type Keyword, numberFrom } from '../record/positional.ts';

const x = E.input(0);
const y = E.input(1);
const value = E.attr('value');

export const addOp = defineOp({
  name: 'add',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('add'),
  kernel: pointwise(E.add(x, y)),
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy) => sumTo(dy, x)),
    y: saving({ y: 'shape' }, ({ y }, dy) => sumTo(dy, y)),
  },
});

export const subOp = defineOp({
  name: 'sub',
  operands: { x: 'data', y: 'data' },
  infer: ([a, b]) => {
    rejectBool('sub', a!);
    return inferBinary('sub')([a!, b!]);
  },
  kernel: pointwise(E.sub(x, y)),
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy) => sumTo(dy, x)),
    y: saving({ y: 'shape' }, ({ y }, dy) => sumTo(neg(dy), y)),
  },
});

export const mulOp = defineOp({
  name: 'mul',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('mul'),
  kernel: pointwise(E.mul(x, y)),
  vjp: {
    x: saving({ x: 'shape', y: 'value' }, ({ x, y }, dy) => sumTo(mul(dy, y), x)),
    y: saving({ x: 'value', y: 'shape' }, ({ x, y }, dy) => sumTo(mul(dy, x), y)),
  },
});

export const maximumOp = defineOp({
  name: 'maximum',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('maximum'),
  kernel: pointwise(E.max(x, y)),
  vjp: {
    x: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(largerShare(dy, x, y), x)),
    y: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(largerShare(dy, y, x), y)),
  },
});

/** The gradient of max(x, y) for x: half of dy at a tie, 0 where x is smaller, else dy, also at NaN, as in PyTorch. */
export const largerShareOp: OpRecord = defineOp({
  name: 'largerShare',
  operands: { dy: 'data', x: 'data', y: 'data' },
  infer: ([dy]) => ({ dtype: dy!.dtype, shape: dy!.shape }),
  kernel: pointwise(
    E.select(
      E.lt(E.input(1), E.input(2)),
      E.const(0),
      E.select(E.eq(E.input(1), E.input(2)), E.mul(x, E.const(0.5)), x),
    ),
  ),
  vjp: { dy: saving({ x: 'value', y: 'value' }, ({ x, y }, g) => largerShare(g, x, y)) },
});

const largerShare = (dy: Tensor, a: Tensor, b: Tensor): Tensor => bind1(largerShareOp, [dy, a, b]);

export const minimumOp = defineOp({
  name: 'minimum',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('minimum'),
  kernel: pointwise(E.min(x, y)),
  vjp: {
    x: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(largerShare(dy, y, x), x)),
    y: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(largerShare(dy, x, y), y)),
  },
});

// Arithmetic with a tensor and a number

export const addScalarOp = defineOp({
  name: 'addScalar',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.add(x, value)),
  vjp: { x: saving({}, (_saved, dy) => dy) },
});

export const mulScalarOp = defineOp({
  name: 'mulScalar',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.mul(x, value)),
  vjp: { x: saving({}, (_saved, dy, { value }) => mulScalar(dy, value as number)) },
});

export const negOp = defineOp({
  name: 'neg',
  operands: { x: 'data' },
  infer: ([a]) => {
    rejectBool('neg', a!);
    return inferSame([a!]);
  },
  kernel: pointwise(E.neg(x)),
  vjp: { x: saving({}, (_saved, dy) => neg(dy)) },
});

export const absOp = defineOp({
  name: 'abs',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.abs(x)),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy) => mul(dy, sign(x))) },
});

export const signOp = defineOp({
  name: 'sign',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(F.sign(x)),
  flat: true,
});

const scaled = (b: number, alpha: number): number => (alpha === 1 ? b : product(b, alpha));

/** a + alpha · b */
export function add(a: Tensor, b: Operand, alphaOrOptions: Keyword<'alpha'> = 1): Tensor {
  expectTensors('add', a);
  expectOperand('add', b);
  const alpha = numberFrom('add', 'alpha', alphaOrOptions);
  if (isNumber(b)) return bindNumber(addScalarOp, a, scaled(b, alpha));
  if (alpha === 1) return bindPromoted(addOp, a, b);
  if (anyHalf(a, b)) return roundedOnce([a, b], (x, y) => add(x, y, alpha));
  return tidy(() => add(a, mul(b, alpha)));
}

/** a − alpha · b */
export function sub(a: Tensor, b: Operand, alphaOrOptions: Keyword<'alpha'> = 1): Tensor {
  expectTensors('sub', a);
  expectOperand('sub', b);
  const alpha = numberFrom('sub', 'alpha', alphaOrOptions);
  if (isNumber(b)) return bindNumber(addScalarOp, a, negated(scaled(b, alpha)));
  if (alpha === 1) return bindPromoted(subOp, a, b);
  if (anyHalf(a, b)) return roundedOnce([a, b], (x, y) => sub(x, y, alpha));
  return tidy(() => sub(a, mul(b, alpha)));
}

/** a · b, broadcast. */
export function mul(a: Tensor, b: Operand): Tensor {
  expectTensors('mul', a);
  expectOperand('mul', b);
  return isNumber(b) ? bindNumber(mulScalarOp, a, b) : bindPromoted(mulOp, a, b);
}

/** Multiplies a float32 tensor by a number, without promotion. */
function mulScalar(a: Tensor, value: number): Tensor {
  return bind1(mulScalarOp, [a], { value });
}

/** The elementwise maximum; NaN if either is NaN. */
export const maximum = (a: Tensor, b: Tensor): Tensor => {
  expectTensors('maximum', a, b);
  return bindPromoted(maximumOp, a, b);
};
/** The elementwise minimum; NaN if either is NaN. */
export const minimum = (a: Tensor, b: Tensor): Tensor => {
  expectTensors('minimum', a, b);
  return bindPromoted(minimumOp, a, b);
};
/** −a */
export const neg = (a: Tensor): Tensor => {
  expectTensors('neg', a);
  return bind1(negOp, [a]);
};
/** |a| */
export const abs = (a: Tensor): Tensor => {
  expectTensors('abs', a);
  return bind1(absOp, [a]);
};
/** −1, 0 or 1 by the sign of each element; NaN for NaN. No gradient. */
export const sign = (a: Tensor): Tensor => {
  expectTensors('sign', a);
  return bind1(signOp, [a]);
};
