/** Activations. Those defined on real numbers turn integers into float32. */

import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul } from '../arithmetic/arithmetic.ts';
import { bind1 } from '../core/bind.ts';
import { bindFloat, inferFloat, inferSame, pointwise } from '../core/promotion.ts';
import { E } from '../expr/expr.ts';
import * as F from '../expr/expr-functions.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';

const x = E.input(0);
const y = E.input(1);

export const tanhOp = defineOp({
  name: 'tanh',
  operands: { x: 'data' },
  infer: inferFloat('tanh'),
  kernel: pointwise(E.tanh(x)),
  vjp: { x: saving({ out: 'value' }, ({ out }, dy) => bind1(tanhGradOp, [dy, out])) },
});

export const tanhGradOp: OpRecord = defineOp({
  name: 'tanhGrad',
  operands: { dy: 'data', out: 'data' },
  infer: inferSame,
  kernel: pointwise(E.mul(x, E.sub(E.const(1), E.mul(y, y)))),
  vjp: {
    dy: saving({ out: 'value' }, ({ out }, g) => bind1(tanhGradOp, [g, out])),
    out: saving({ dy: 'value', out: 'value' }, ({ dy, out }, g) => mul(mul(mul(g, dy), -2), out)),
  },
});

export const sigmoidOp = defineOp({
  name: 'sigmoid',
  operands: { x: 'data' },
  infer: inferFloat('sigmoid'),
  kernel: pointwise(F.sigmoid(x)),
  vjp: { x: saving({ out: 'value' }, ({ out }, dy) => bind1(sigmoidGradOp, [dy, out])) },
});

export const sigmoidGradOp: OpRecord = defineOp({
  name: 'sigmoidGrad',
  operands: { dy: 'data', out: 'data' },
  infer: inferSame,
  kernel: pointwise(E.mul(x, E.mul(y, E.sub(E.const(1), y)))),
  vjp: {
    dy: saving({ out: 'value' }, ({ out }, g) => bind1(sigmoidGradOp, [g, out])),
    out: saving({ dy: 'value', out: 'value' }, ({ dy, out }, g) =>
      mul(mul(g, dy), add(mul(out, -2), 1)),
    ),
  },
});

export const reluOp = defineOp({
  name: 'relu',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.max(x, E.const(0))),
  vjp: { x: saving({ out: 'value' }, ({ out }, dy) => bind1(reluGradOp, [dy, out])) },
});

export const reluGradOp: OpRecord = defineOp({
  name: 'reluGrad',
  operands: { dy: 'data', out: 'data' },
  infer: inferSame,
  // NaN passes the gradient, because it also passes its value.
  kernel: pointwise(E.select(E.le(y, E.const(0)), E.const(0), x)),
  vjp: { dy: saving({ out: 'value' }, ({ out }, g) => bind1(reluGradOp, [g, out])) },
});

/** The hyperbolic tangent. */
export const tanh = (a: Tensor): Tensor => {
  expectTensors('tanh', a);
  return bindFloat(tanhOp, a);
};
/** 1 / (1 + e⁻ˣ) */
export const sigmoid = (a: Tensor): Tensor => {
  expectTensors('sigmoid', a);
  return bindFloat(sigmoidOp, a);
};
/** x if positive, else 0; NaN for NaN. */
export const relu = (a: Tensor): Tensor => {
  expectTensors('relu', a);
  return bind1(reluOp, [a]);
};
