/** Bounds and mixtures of tensors. */

import { ArgumentError } from '../errors/errors.ts';
import { type DType, dtypes } from '../tensor/dtype.ts';
import { tidy } from '../tensor/lifetime.ts';
import { formatSpec } from '../tensor/meta.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { add, mul, sub } from './arithmetic.ts';
import { bind1 } from './bind.ts';
import { casting } from './cast.ts';
import { dropWhere, eq, gt, keepWhere, lt, where } from './comparison.ts';
import { defineOp, type OpRecord, saving } from './define-op.ts';
import { div } from './division.ts';
import { E } from './expr.ts';
import { log } from './functions.ts';
import { isfinite, isnan, logicalAnd, logicalNot } from './logic.ts';
import { inferSame, joinedBy, type Operand, pointwise } from './promotion.ts';
import { isNumber } from './symbolic-number.ts';

const x = E.input(0);
const y = E.input(1);
const [least, most] = [E.attr('min'), E.attr('max')];

const clampOp = defineOp({
  name: 'clamp',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.min(E.max(x, least), most)),
  vjp: {
    x: saving({ x: 'value' }, ({ x }, dy, attrs) => bind1(clampGradOp, [dy, x], attrs)),
  },
});

/** On the bounds the gradient passes, as in PyTorch. */
const clampGradOp: OpRecord = defineOp({
  name: 'clampGrad',
  operands: { dy: 'data', x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.select(E.ge(y, least), E.select(E.le(y, most), x, E.const(0)), E.const(0))),
  vjp: { dy: saving({ x: 'value' }, ({ x }, g, attrs) => bind1(clampGradOp, [g, x], attrs)) },
});

type Bound = Operand | null;

/** Between `min` and `max`, either of which may be left out (null); both numbers, or both tensors. */
export function clamp(a: Tensor, min: Bound = null, max: Bound = null): Tensor {
  if (min === null && max === null) {
    throw new ArgumentError({
      what: 'clamp: no bound',
      given: formatSpec(a),
      expected: 'min, max or both',
      remedy: 'x.clamp(0) bounds from below, x.clamp(null, 1) from above',
    });
  }
  if (isBound(min) && isBound(max)) return clampByNumbers(a, min, max);
  return tidy(() => {
    const raised = min === null ? a : where(lt(a, min), min, a);
    return max === null ? raised : where(gt(raised, max), max, raised);
  });
}

const isBound = (bound: Bound): bound is number | null => bound === null || isNumber(bound);

function clampByNumbers(a: Tensor, min: number | null, max: number | null): Tensor {
  const dtype = [min, max].reduce<DType>(
    (joined, bound) => (bound === null ? joined : joinedBy(joined, bound)),
    a.dtype,
  );
  const attrs = { min: min ?? -Infinity, max: max ?? Infinity };
  return casting([a], dtype, (operands) => bind1(clampOp, operands, attrs));
}

export const clampMin = (a: Tensor, min: Operand): Tensor => clamp(a, min);
export const clampMax = (a: Tensor, max: Operand): Tensor => clamp(a, null, max);

/** a + weight · (b − a) */
export function lerp(a: Tensor, b: Tensor, weight: Operand): Tensor {
  return tidy(() => add(a, mul(sub(b, a), weight)));
}

/** a + value · b · c */
export function addcmul(a: Tensor, b: Tensor, c: Tensor, value = 1): Tensor {
  return tidy(() => add(a, scaled(mul(b, c), value)));
}

/** a + value · b / c */
export function addcdiv(a: Tensor, b: Tensor, c: Tensor, value = 1): Tensor {
  return tidy(() => add(a, scaled(div(b, c), value)));
}

const scaled = (a: Tensor, value: number): Tensor => (value === 1 ? a : mul(a, value));

const nanToNumOp = defineOp({
  name: 'nanToNum',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(
    E.select(
      E.gt(x, E.const(largest())),
      E.attr('posinf'),
      E.select(
        E.lt(x, E.const(-largest())),
        E.attr('neginf'),
        E.select(
          E.gt(E.add(E.gt(x, E.const(0)), E.le(x, E.const(0))), E.const(0)),
          x,
          E.attr('nan'),
        ),
      ),
    ),
  ),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy) => keepWhere(dy, isfinite(x))) },
});

/** Of finite float32 numbers. */
function largest(): number {
  return (2 - 2 ** -23) * 2 ** 127;
}

/** Finite numbers for NaN (0) and for infinities (the largest float32), or those given. */
export function nanToNum(a: Tensor, nan = 0, posinf = largest(), neginf = -largest()): Tensor {
  if (!dtypes[a.dtype].floating) return a;
  return bind1(nanToNumOp, [a], { nan, posinf, neginf });
}

/** a · ln b, and 0 where a is 0 (unless b is NaN). */
export function xlogy(a: Tensor, b: Tensor): Tensor {
  return tidy(() => dropWhere(mul(a, log(b)), logicalAnd(eq(a, 0), logicalNot(isnan(b)))));
}
