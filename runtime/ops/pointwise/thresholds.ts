/** Activations with thresholds, gates and learned slopes. */

import type { Attrs } from '../../device/kernel-op.ts';
import { launchAttrs } from '../../device/symbolic-attrs.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { promote } from '../../spec/dtype.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { exp } from '../arithmetic/functions.ts';
import { bind1 } from '../core/bind.ts';
import { sumTo } from '../core/broadcast.ts';
import { casting } from '../core/cast.ts';
import {
  bindFloat,
  floating,
  inferBinary,
  inferFloat,
  inferSame,
  pointwise,
} from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { E, type Expr } from '../expr/expr.ts';
import * as F from '../expr/expr-functions.ts';
import { narrow, reshape } from '../movement/movement.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { sigmoid, tanh } from './activations.ts';
import { dropWhere, gt, keepWhere, le, lt } from './comparison.ts';

const x = E.input(0);
const c = (value: number): Expr => E.const(value);

/**
 * Defines an op that passes x, possibly shifted, where `keeps` holds and is constant elsewhere; the gradient passes
 * where x does.
 */
function cut(name: string, value: Expr, keeps: (x: Expr) => Expr): OpRecord {
  const gradOp: OpRecord = defineOp({
    name: `${name}Grad`,
    operands: { dy: 'data', x: 'data' },
    infer: inferSame,
    kernel: pointwise(E.select(keeps(E.input(1)), E.input(0), c(0))),
    vjp: { dy: saving({ x: 'value' }, ({ x }, g, attrs) => gradient(g, x, attrs)) },
  });
  const gradient = (dy: Tensor, at: Tensor, attrs: Attrs): Tensor =>
    bind1(gradOp, [dy, at], readBy(gradOp, attrs));
  return defineOp({
    name,
    operands: { x: 'data' },
    infer: inferSame,
    kernel: pointwise(value),
    vjp: { x: saving({ x: 'value' }, ({ x }, dy, attrs) => gradient(dy, x, attrs)) },
  });
}

/** Removes attributes that only the forward op reads. */
function readBy(op: OpRecord, attrs: Attrs): Attrs {
  const read = launchAttrs(op);
  return Object.fromEntries(Object.entries(attrs).filter(([name]) => read.has(name)));
}

const level = E.attr('threshold');
export const thresholdOp = cut(
  'threshold',
  E.select(E.le(x, level), E.attr('value'), x),
  // NaN passes the gradient, because it also passes its value.
  (a) => E.sub(c(1), E.le(a, level)),
);

/** x above the threshold, else `value`. */
export function threshold(a: Tensor, threshold: number, value: number): Tensor {
  expectTensors('threshold', a);
  return bind1(thresholdOp, [a], { threshold, value });
}

const lambd = E.attr('lambd');
const negLambd = E.neg(lambd);
const within = (a: Expr): Expr => E.select(E.ge(a, negLambd), E.le(a, lambd), c(0));
const outside = (a: Expr): Expr => E.sub(c(1), within(a));

export const hardshrinkOp = cut('hardshrink', E.select(within(x), c(0), x), outside);
export const softshrinkOp = cut(
  'softshrink',
  E.select(
    E.gt(x, lambd),
    E.sub(x, lambd),
    E.select(E.lt(x, negLambd), E.add(x, lambd), E.mul(x, c(0))),
  ),
  outside,
);

/** x outside [−lambd, lambd], else 0. */
export const hardshrink = (a: Tensor, lambd = 0.5): Tensor => {
  expectTensors('hardshrink', a);
  return shrunk(hardshrinkOp, a, lambd);
};
/** x moved toward 0 by lambd, but not past 0. */
export const softshrink = (a: Tensor, lambd = 0.5): Tensor => {
  expectTensors('softshrink', a);
  return shrunk(softshrinkOp, a, lambd);
};

function shrunk(op: OpRecord, a: Tensor, lambd: number): Tensor {
  return bindFloat(op, a, { lambd });
}

/** x − tanh x */
export function tanhshrink(a: Tensor): Tensor {
  expectTensors('tanhshrink', a);
  if (anyHalf(a)) return roundedOnce([a], tanhshrink);
  return tidy(() => sub(a, tanh(a)));
}

const alpha = E.attr('alpha');
export const celuGradOp: OpRecord = defineOp({
  name: 'celuGrad',
  operands: { dy: 'data', x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.select(E.le(E.input(1), c(0)), E.mul(x, E.exp(E.div(E.input(1), alpha))), x)),
  vjp: {
    dy: saving({ x: 'value' }, ({ x }, g, attrs) => bind1(celuGradOp, [g, x], attrs)),
    x: saving({ dy: 'value', x: 'value' }, ({ dy, x }, g, { alpha }: Attrs) => {
      const bend = div(exp(div(x, alpha as number)), alpha as number);
      return mul(mul(g, dy), keepWhere(bend, le(x, 0)));
    }),
  },
});

export const celuOp = defineOp({
  name: 'celu',
  operands: { x: 'data' },
  infer: inferFloat('celu'),
  kernel: pointwise(E.select(E.gt(x, c(0)), x, E.mul(alpha, F.expm1(E.div(x, alpha))))),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy, attrs) => bind1(celuGradOp, [dy, x], attrs)) },
});

/** x if positive, else alpha · (e^(x / alpha) − 1). */
export const celu = (a: Tensor, alpha = 1): Tensor => {
  expectTensors('celu', a);
  return bindFloat(celuOp, a, { alpha });
};

export const preluOp = defineOp({
  name: 'prelu',
  operands: { x: 'data', weight: 'data' },
  infer: inferBinary('prelu'),
  kernel: pointwise(E.select(E.gt(x, c(0)), x, E.mul(E.input(1), x))),
  vjp: {
    x: saving({ x: 'value', weight: 'value' }, ({ x, weight }, dy) => {
      const positive = gt(x, 0);
      return sumTo(add(keepWhere(dy, positive), dropWhere(mul(dy, weight), positive)), x);
    }),
    weight: saving({ x: 'value', weight: 'shape' }, ({ x, weight }, dy) =>
      sumTo(mul(dy, keepWhere(x, lt(x, 0))), weight),
    ),
  },
});

/** x if positive, else weight · x; weight has one element, or one per channel (dimension 1). */
export function prelu(a: Tensor, weight: Tensor): Tensor {
  expectTensors('prelu', a, weight);
  const channels = a.rank > 1 ? a.shape[1]! : (a.shape[0] ?? 1);
  if (weight.rank > 1 || (weight.numel() !== 1 && (a.rank === 0 || weight.numel() !== channels))) {
    throw new ShapeError({
      what: "prelu: the weight doesn't fit",
      given: `${formatSpec(a)} with weight ${formatSpec(weight)}`,
      expected: `a weight of 1 element, or of ${channels}: one per channel`,
      remedy: 'give the weight as many elements as dimension 1 has entries',
    });
  }
  return tidy(() => {
    const perChannel = weight.numel() !== 1 && a.rank > 1;
    const shape = perChannel ? [channels, ...a.shape.slice(2).map(() => 1)] : [];
    const slope =
      weight.numel() === 1 ? reshape(weight, []) : perChannel ? reshape(weight, shape) : weight;
    return casting([a, slope], floating(promote(a.dtype, slope.dtype)), (operands) =>
      bind1(preluOp, operands),
    );
  });
}

/** The first half of a dimension times the sigmoid of the second half. */
export function glu(a: Tensor, dim = -1): Tensor {
  expectTensors('glu', a);
  const at = normalizeDim(dim, a.rank, 'glu');
  const size = a.shape[at] ?? 1;
  if (a.rank === 0 || size % 2 !== 0) {
    throw new ShapeError({
      what: 'glu: the dimension has no two halves',
      given: `dimension ${dim} of ${formatSpec(a)}`,
      expected: 'an even size',
      remedy: 'choose another dimension, or pad() this one',
    });
  }
  if (anyHalf(a)) return roundedOnce([a], (converted) => glu(converted, dim));
  return tidy(() => mul(narrow(a, at, 0, size / 2), sigmoid(narrow(a, at, size / 2, size / 2))));
}
