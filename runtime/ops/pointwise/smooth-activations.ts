/** Smooth or piecewise activations, each with a single-kernel gradient. */

import type { Attrs } from '../../device/kernel-op.ts';
import { expectArguments } from '../../options/expect-options.ts';
import { oneOf } from '../../options/option-kinds.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { abs, add, mul, neg, sign } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { exp } from '../arithmetic/functions.ts';
import { bind1 } from '../core/bind.ts';
import { cast } from '../core/cast.ts';
import { bindFloat, inferFloat, inferSame, pointwise } from '../core/promotion.ts';
import { E, type Expr } from '../expr/expr.ts';
import * as F from '../expr/expr-functions.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { sigmoid, tanh } from './activations.ts';
import { dropWhere, gt, keepWhere, lt } from './comparison.ts';

interface Activation {
  readonly value: (x: Expr) => Expr;
  readonly slope: (x: Expr) => Expr;
  /** Omitted if the slope is piecewise constant. */
  readonly secondDerivative?: (x: Tensor, attrs: Attrs) => Tensor;
}

/** Defines the op, and `…Grad` (dy, x) for its gradient. */
function activation(name: string, { value, slope, secondDerivative }: Activation): OpRecord {
  const gradOp: OpRecord = defineOp({
    name: `${name}Grad`,
    operands: { dy: 'data', x: 'data' },
    infer: inferSame,
    kernel: pointwise(E.mul(E.input(0), slope(E.input(1)))),
    vjp: {
      dy: saving({ x: 'value' }, ({ x }, g, attrs) => bind1(gradOp, [g, x], attrs)),
      ...(secondDerivative && {
        x: saving({ dy: 'value', x: 'value' }, ({ dy, x }, g, attrs) =>
          mul(mul(g, dy), secondDerivative(x, attrs)),
        ),
      }),
    },
  });
  return defineOp({
    name,
    operands: { x: 'data' },
    infer: inferFloat(name),
    kernel: pointwise(value(E.input(0))),
    vjp: { x: saving({ x: 'value' }, ({ x }, dy, attrs) => bind1(gradOp, [dy, x], attrs)) },
  });
}

const c = (value: number): Expr => E.const(value);
const one = c(1);
const isPositive = (x: Expr): Expr => E.gt(x, c(0));
const isAtMostZero = (x: Expr): Expr => E.le(x, c(0));
/** 1 strictly between the bounds, else 0. */
const between = (x: Expr, low: Expr, high: Expr): Expr =>
  E.select(E.gt(x, low), E.lt(x, high), c(0));
const clamped = (x: Expr, low: Expr, high: Expr): Expr => E.min(E.max(x, low), high);

const alpha = E.attr('alpha');
export const eluOp = activation('elu', {
  value: (x) => E.select(isPositive(x), x, E.mul(alpha, F.expm1(x))),
  slope: (x) => E.select(isAtMostZero(x), E.mul(alpha, E.exp(x)), one),
  secondDerivative: (x, { alpha }) => mul(keepWhere(exp(x), lt(x, 0)), alpha as number),
});

/** x if positive, else alpha · (eˣ − 1). */
export const elu = (a: Tensor, alpha = 1): Tensor => {
  expectTensors('elu', a);
  return bindFloat(eluOp, a, { alpha });
};

const [seluAlpha, seluScale] = [1.6732632423543772, 1.0507009873554805];
export const seluOp = activation('selu', {
  value: (x) =>
    E.select(isPositive(x), E.mul(c(seluScale), x), E.mul(c(seluScale * seluAlpha), F.expm1(x))),
  slope: (x) => E.select(isAtMostZero(x), E.mul(c(seluScale * seluAlpha), E.exp(x)), c(seluScale)),
  secondDerivative: (x) => mul(keepWhere(exp(x), lt(x, 0)), seluScale * seluAlpha),
});

/** ELU with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017). */
export const selu = (a: Tensor): Tensor => {
  expectTensors('selu', a);
  return bindFloat(seluOp, a);
};

const negativeSlope = E.attr('negativeSlope');
export const leakyReluOp = activation('leakyRelu', {
  value: (x) => E.select(isPositive(x), x, E.mul(x, negativeSlope)),
  slope: (x) => E.select(isPositive(x), one, negativeSlope),
});

/** x if positive, else negativeSlope · x. */
export const leakyRelu = (a: Tensor, negativeSlope = 0.01): Tensor => {
  expectTensors('leakyRelu', a);
  return bindFloat(leakyReluOp, a, { negativeSlope });
};

const [minVal, maxVal] = [E.attr('min'), E.attr('max')];
export const hardtanhOp = activation('hardtanh', {
  value: (x) => clamped(x, minVal, maxVal),
  // NaN passes the gradient, because it also passes its value.
  slope: (x) => E.select(E.le(x, minVal), c(0), E.select(E.ge(x, maxVal), c(0), one)),
});

/** Clamps to two bounds; unlike clamp, its gradient is 0 at the bounds. */
export const hardtanh = (a: Tensor, min = -1, max = 1): Tensor => {
  expectTensors('hardtanh', a);
  return bindFloat(hardtanhOp, a, { min, max });
};
/** Clamps to [0, 6]. */
export const relu6 = (a: Tensor): Tensor => {
  expectTensors('relu6', a);
  return hardtanh(a, 0, 6);
};

const shifted = (x: Expr): Expr => E.div(clamped(E.add(x, c(3)), c(0), c(6)), c(6));
export const hardsigmoidOp = activation('hardsigmoid', {
  value: shifted,
  slope: (x) => E.mul(between(x, c(-3), c(3)), c(1 / 6)),
});
export const hardswishOp = activation('hardswish', {
  value: (x) => E.mul(x, shifted(x)),
  slope: (x) => {
    const inside = E.add(E.div(x, c(3)), c(0.5));
    return E.select(E.le(x, c(-3)), c(0), E.select(E.lt(x, c(3)), inside, one));
  },
  secondDerivative: (x) => div(cast(lt(abs(x), 3), x.dtype), 3),
});

/** Piecewise linear: 0 up to −3, 1 from 3. */
export const hardsigmoid = (a: Tensor): Tensor => {
  expectTensors('hardsigmoid', a);
  return bindFloat(hardsigmoidOp, a);
};
/** x · hardsigmoid(x) */
export const hardswish = (a: Tensor): Tensor => {
  expectTensors('hardswish', a);
  return bindFloat(hardswishOp, a);
};

/** s(1 − s): the slope of the sigmoid, from its value. */
const sigmoidSlope = (s: Tensor): Tensor => mul(s, add(neg(s), 1));

export const siluOp = activation('silu', {
  value: (x) => E.mul(x, F.sigmoid(x)),
  slope: (x) => {
    const s = F.sigmoid(x);
    return E.mul(s, E.add(one, E.mul(x, E.sub(one, s))));
  },
  // s(1 − s)(2 + x(1 − 2s))
  secondDerivative: (x) => {
    const s = sigmoid(x);
    return mul(sigmoidSlope(s), add(mul(x, add(mul(s, -2), 1)), 2));
  },
});

/** x · sigmoid(x) */
export const silu = (a: Tensor): Tensor => {
  expectTensors('silu', a);
  return bindFloat(siluOp, a);
};

const [beta, threshold] = [E.attr('beta'), E.attr('threshold')];
export const softplusOp = activation('softplus', {
  value: (x) => {
    const z = E.mul(x, beta);
    return E.select(E.gt(z, threshold), x, E.div(F.softplus(z), beta));
  },
  slope: (x) => {
    const z = E.mul(x, beta);
    return E.select(E.gt(z, threshold), one, F.sigmoid(z));
  },
  secondDerivative: (x, { beta, threshold }) => {
    const z = mul(x, beta as number);
    return mul(dropWhere(sigmoidSlope(sigmoid(z)), gt(z, threshold as number)), beta as number);
  },
});

/** ln(1 + e^(beta · x)) / beta, or x where beta · x exceeds the threshold. */
export const softplus = (a: Tensor, beta = 1, threshold = 20): Tensor => {
  expectTensors('softplus', a);
  return bindFloat(softplusOp, a, { beta, threshold });
};

export const logSigmoidOp = activation('logSigmoid', {
  value: (x) => E.neg(F.softplus(E.neg(x))),
  slope: (x) => F.sigmoid(E.neg(x)),
  secondDerivative: (x) => neg(sigmoidSlope(sigmoid(x))),
});

/** The logarithm of the sigmoid, without underflow. */
export const logSigmoid = (a: Tensor): Tensor => {
  expectTensors('logSigmoid', a);
  return bindFloat(logSigmoidOp, a);
};

export const softsignOp = activation('softsign', {
  value: (x) => E.div(x, E.add(one, E.abs(x))),
  slope: (x) => {
    const sum = E.add(one, E.abs(x));
    return E.div(one, E.mul(sum, sum));
  },
  secondDerivative: (x) => {
    const sum = add(abs(x), 1);
    return div(mul(sign(x), -2), mul(sum, mul(sum, sum)));
  },
});

/** x / (1 + |x|) */
export const softsign = (a: Tensor): Tensor => {
  expectTensors('softsign', a);
  return bindFloat(softsignOp, a);
};

export const mishOp = activation('mish', {
  value: (x) => E.mul(x, E.tanh(F.softplus(x))),
  slope: (x) => {
    const t = E.tanh(F.softplus(x));
    return E.add(t, E.mul(x, E.mul(E.sub(one, E.mul(t, t)), F.sigmoid(x))));
  },
  // (1 − t²) s (2 + x(1 − s) − 2xts)
  secondDerivative: (x) => {
    const [t, s] = [tanh(softplus(x)), sigmoid(x)];
    const outer = mul(add(neg(mul(t, t)), 1), s);
    const factor = add(add(neg(s), 1), mul(mul(t, s), -2));
    return mul(outer, add(mul(x, factor), 2));
  },
});

/** x · tanh(softplus(x)) */
export const mish = (a: Tensor): Tensor => {
  expectTensors('mish', a);
  return bindFloat(mishOp, a);
};

const gaussian = 1 / Math.sqrt(2 * Math.PI);
const bellOf = (x: Expr): Expr => E.exp(E.mul(c(-0.5), E.mul(x, x)));
export const geluOp = activation('gelu', {
  value: (x) => E.mul(x, F.normalCdf(x, bellOf(x))),
  slope: (x) => {
    const bell = bellOf(x);
    return E.add(F.normalCdf(x, bell), E.mul(x, E.mul(c(gaussian), bell)));
  },
  secondDerivative: (x) => {
    const squared = mul(x, x);
    return mul(mul(exp(mul(squared, -0.5)), gaussian), add(neg(squared), 2));
  },
});

const [tanhScale, cubic] = [Math.sqrt(2 / Math.PI), 0.044715];
const inner = (x: Expr): Expr =>
  E.mul(c(tanhScale), E.add(x, E.mul(c(cubic), E.mul(x, E.mul(x, x)))));
export const geluTanhOp = activation('geluTanh', {
  value: (x) => E.mul(E.mul(c(0.5), x), E.add(one, E.tanh(inner(x)))),
  slope: (x) => {
    const t = E.tanh(inner(x));
    const steepness = E.mul(c(tanhScale), E.add(one, E.mul(c(3 * cubic), E.mul(x, x))));
    const bend = E.mul(E.sub(one, E.mul(t, t)), steepness);
    return E.add(E.mul(c(0.5), E.add(one, t)), E.mul(E.mul(c(0.5), x), bend));
  },
  // (1 − t²)(u′ + x(u″/2 − t u′²)), with t = tanh u
  secondDerivative: (x) => {
    const squared = mul(x, x);
    const t = tanh(mul(add(x, mul(mul(squared, x), cubic)), tanhScale));
    const first = mul(add(mul(squared, 3 * cubic), 1), tanhScale);
    const halfSecond = mul(x, 3 * cubic * tanhScale);
    const bend = add(halfSecond, neg(mul(t, mul(first, first))));
    return mul(add(neg(mul(t, t)), 1), add(first, mul(x, bend)));
  },
});

export const geluKinds = { approximate: oneOf('none', 'tanh') };

/** x times the standard normal CDF at x, exact or approximated with tanh. */
export function gelu(a: Tensor, approximate: 'none' | 'tanh' = 'none'): Tensor {
  expectTensors('gelu', a);
  expectArguments('gelu', { approximate }, geluKinds);
  return bindFloat(approximate === 'tanh' ? geluTanhOp : geluOp, a);
}
