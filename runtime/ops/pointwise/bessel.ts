/** Modified Bessel functions of the first kind, of orders 0 and 1. */

import type { Tensor } from '../../tensor/tensor.ts';
import { abs, add, mul, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { logicalNot } from '../arithmetic/logic.ts';
import { bind1 } from '../core/bind.ts';
import { bindFloat, inferFloat, pointwise } from '../core/promotion.ts';
import { E, type Expr } from '../expr/expr.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { dropWhere, lt, maskedFill, where } from './comparison.ts';

const x = E.input(0);
const c = (value: number): Expr => E.const(value);
const size = E.abs(x);

function polynomial(z: Expr, [first, ...rest]: readonly number[]): Expr {
  return rest.reduce((sum, coefficient) => E.add(E.mul(sum, z), c(coefficient)), c(first!));
}

/** Up to here the power series is used, whose terms are all positive. */
const nearest = 8;

/** Returns coefficients of Σ (x²/4)ᵏ / (k! (k + order)!) in (x / scale)², the last one first. */
function seriesOf(order: 0 | 1, scale: number, count: number): readonly number[] {
  const coefficients = [1];
  for (let k = 1; k < count; k++)
    coefficients.unshift((coefficients[0]! * scale ** 2) / (4 * k * (k + order)));
  return coefficients;
}

// √x · e⁻ˣ · I(x) from 8 on, by powers of 16 / x − 1: Chebyshev approximations to 1.3e-16.

const far0 = [
  -2.0260604287413626e-11, 9.36508689281819e-11, 1.5279202694981569e-10, -6.633287112547084e-10,
  -5.715843864202709e-10, 2.1968921378829006e-9, 1.5200816953924232e-9, -4.575553424534973e-9,
  -3.505966530879332e-9, 6.560138746917057e-9, 7.552583062123384e-9, -5.0381064879032845e-9,
  -1.340891754008974e-8, -6.8493381882867694e-9, 7.554691881248808e-9, 2.1566251453104354e-8,
  3.932584334552952e-8, 8.872034383314144e-8, 2.9735985885673923e-7, 1.4838476651250266e-6,
  1.1143033790932038e-5, 0.00013621607438984735, 0.0033605519836678614, 0.4021765094450081,
];

const far1 = [
  1.8515118828852956e-11, -9.752397204138195e-11, -1.4011625179770627e-10, 6.917089294193807e-10,
  5.295625441161261e-10, -2.297004161885201e-9, -1.4387250533041013e-9, 4.810597405089944e-9,
  3.4262341490077958e-9, -6.983839624895866e-9, -7.64239413436356e-9, 5.59337010179061e-9,
  1.4034238782067183e-8, 6.8401389977069586e-9, -8.427766093735185e-9, -2.339250374801858e-8,
  -4.312917729178349e-8, -1.000109565963654e-7, -3.483855761044295e-7, -1.8349102358955385e-6,
  -1.5038547200567216e-5, -0.0002192357638317243, -0.009749577193235737, 0.38939845902587233,
];

/** Returns I(|x|), which must not overflow before its result does: e^|x| is two factors. */
function bessel(near: Expr, far: readonly number[]): Expr {
  const half = E.exp(E.mul(size, c(0.5)));
  const scaled = polynomial(E.sub(E.div(c(16), size), c(1)), far);
  const distant = E.mul(E.mul(half, E.div(scaled, E.sqrt(size))), half);
  const finite = E.select(E.le(size, c(nearest)), near, distant);
  return E.select(E.eq(size, c(Infinity)), size, finite);
}

const square = E.mul(E.mul(x, c(1 / nearest)), E.mul(x, c(1 / nearest)));
const first = bessel(
  E.mul(E.mul(size, c(0.5)), polynomial(square, seriesOf(1, nearest, 24))),
  far1,
);

export const i0Op: OpRecord = defineOp({
  name: 'i0',
  operands: { x: 'data' },
  infer: inferFloat('i0'),
  kernel: pointwise(bessel(polynomial(square, seriesOf(0, nearest, 24)), far0)),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy) => mul(dy, bind1(i1Op, [x]))) },
});

export const i1Op: OpRecord = defineOp({
  name: 'i1',
  operands: { x: 'data' },
  infer: inferFloat('i1'),
  kernel: pointwise(E.select(E.lt(x, c(0)), E.neg(first), first)),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy) => mul(dy, slopeOfI1(x))) },
});

/** Coefficients of I₁′ = Σ (k + ½) (x²/4)ᵏ / (k! (k + 1)!) in x², the last one first. */
const slopeNear = seriesOf(1, 1, 8).map((each, i) => each * (7.5 - i));

/** I₀ − I₁ / x; near 0, its series. */
function slopeOfI1(x: Tensor): Tensor {
  const near = lt(abs(x), 0.25);
  const safe = maskedFill(x, near, 1);
  const far = sub(bind1(i0Op, [safe]), div(bind1(i1Op, [safe]), safe));
  const small = dropWhere(x, logicalNot(near));
  const squared = mul(small, small);
  const close = slopeNear.reduce<Tensor | number>((sum, own) => add(mul(squared, sum), own), 0);
  return where(near, close, far);
}

/** The modified Bessel function of the first kind of order 0; integers become float32. */
export function i0(a: Tensor): Tensor {
  expectTensors('i0', a);
  return bindFloat(i0Op, a);
}

/** The modified Bessel function of the first kind of order 1: the derivative of `i0`. */
export function i1(a: Tensor): Tensor {
  expectTensors('i1', a);
  return bindFloat(i1Op, a);
}
