/** Clamping and mixing of tensors. */

import { ArgumentError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectNames } from '../../options/expect-options.ts';
import { type DType, dtypes, promote } from '../../spec/dtype.ts';
import { tidy } from '../../tensor/lifetime.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { add, maximum, minimum, mul, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { log } from '../arithmetic/functions.ts';
import { isfinite, logicalAnd } from '../arithmetic/logic.ts';
import { bind1 } from '../core/bind.ts';
import { expand, sumTo } from '../core/broadcast.ts';
import { cast, casting } from '../core/cast.ts';
import {
  floating,
  inferBinary,
  inferSame,
  joinedBy,
  type Operand,
  pointwise,
} from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { E, type Expr } from '../expr/expr.ts';
import { clone } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp, expectTensor, type OpRecord, saving } from '../record/define-op.ts';
import { expectOperand, expectTensors } from '../record/expect-tensors.ts';
import { type Keyword, numberFrom } from '../record/positional.ts';
import { dropWhere, eq, keepWhere, le } from './comparison.ts';

const x = E.input(0);
const y = E.input(1);
const [least, most] = [E.attr('min'), E.attr('max')];

export const clampOp = defineOp({
  name: 'clamp',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.min(E.max(x, least), most)),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy, attrs) => bind1(clampGradOp, [dy, x], attrs)) },
});

/** Selects 0 where y equals a bound; a bound that is missing is infinite, and infinities pass it. */
const unlessAt = (bound: Expr, dy: Expr): Expr =>
  E.select(E.eq(E.sub(y, bound), E.const(0)), E.const(0), dy);

/** As in PyTorch, no gradient passes at the bounds. */
export const clampGradOp: OpRecord = defineOp({
  name: 'clampGrad',
  operands: { dy: 'data', x: 'data' },
  infer: inferSame,
  kernel: pointwise(
    E.select(
      E.ge(y, least),
      E.select(E.le(y, most), unlessAt(least, unlessAt(most, x)), E.const(0)),
      E.const(0),
    ),
  ),
  vjp: { dy: saving({ x: 'value' }, ({ x }, g, attrs) => bind1(clampGradOp, [g, x], attrs)) },
});

type Bound = Operand | null;

/** The lower bound, or both bounds by name. */
export type ClampBounds<B> =
  | B
  | null
  | { readonly min?: B | null | undefined; readonly max?: B | null | undefined };

/** Returns the two bounds; throws ArgumentError for an object with unknown names, or if there is none. */
export function clampBounds<B extends Operand>(
  op: string,
  least: ClampBounds<B>,
  most: B | null,
): readonly [min: B | null, max: B | null] {
  let [min, max]: [B | null, B | null] = [least as B | null, most];
  if (least !== null && !isNumber(least) && !(least instanceof Tensor)) {
    const named = least as { readonly min?: B | null; readonly max?: B | null };
    expectNames(op, named, ['min', 'max']);
    [min, max] = [named.min ?? null, named.max ?? null];
  }
  if (min === null && max === null) {
    throw new ArgumentError({
      what: `${op}: no bound`,
      given: 'null and null',
      expected: 'min, max or both',
      remedy: 'x.clamp(0) bounds from below, x.clamp(null, 1) from above',
    });
  }
  return [min, max];
}

/**
 * Clamps each element to [min, max]. Either bound may be omitted (null); both are numbers or both tensors, by
 * position or as `{ min, max }`.
 */
export function clamp(a: Tensor, least: ClampBounds<Operand> = null, most: Bound = null): Tensor {
  expectTensors('clamp', a);
  const [min, max] = clampBounds('clamp', least, most);
  if (isBound(min) && isBound(max)) return clampByNumbers(a, min, max);
  return tidy(() => {
    const raised = isBound(min) ? clampByNumbers(a, min, null) : maximum(a, min);
    return isBound(max) ? clampByNumbers(raised, null, max) : minimum(raised, max);
  });
}

export const isBound = (bound: Bound): bound is number | null => bound === null || isNumber(bound);

function clampByNumbers(a: Tensor, min: number | null, max: number | null): Tensor {
  if (min === null && max === null) return a;
  const dtype = [min, max].reduce<DType>(
    (joined, bound) => (bound === null ? joined : joinedBy(joined, bound)),
    a.dtype,
  );
  const attrs = { min: min ?? -Infinity, max: max ?? Infinity };
  return casting([a], dtype, (operands) => bind1(clampOp, operands, attrs));
}

/** Another name for `clamp`. */
export const clip = clamp;

/** Raises elements below `min` to it. */
export const clampMin = (a: Tensor, min: Operand): Tensor => {
  expectTensors('clampMin', a);
  expectOperand('clampMin', min);
  return clamp(a, min);
};
/** Lowers elements above `max` to it. */
export const clampMax = (a: Tensor, max: Operand): Tensor => {
  expectTensors('clampMax', a);
  expectOperand('clampMax', max);
  return clamp(a, null, max);
};

/** a + weight · (b − a) */
export function lerp(a: Tensor, b: Tensor, weight: Operand): Tensor {
  return naming('lerp', () => {
    expectTensors('lerp', a, b);
    expectOperand('lerp', weight);
    if (anyHalf(a, b, weight)) return roundedOnce([a, b, weight], (x, y, w) => lerp(x, y, w));
    return tidy(() => add(a, mul(sub(b, a), weight)));
  });
}

/** a + value · b · c */
export function addcmul(
  a: Tensor,
  b: Tensor,
  c: Tensor,
  valueOrOptions: Keyword<'value'> = 1,
): Tensor {
  return naming('addcmul', () => {
    expectTensors('addcmul', a, b, c);
    const value = numberFrom('addcmul', 'value', valueOrOptions);
    if (anyHalf(a, b, c)) return roundedOnce([a, b, c], (x, y, z) => addcmul(x, y, z, value));
    // The factors are in the dtype of the result before they are multiplied.
    return tidy(() => add(a, scaled(mul(cast(b, promote(a.dtype, b.dtype)), c), value)));
  });
}

/** a + value · b / c */
export function addcdiv(
  a: Tensor,
  b: Tensor,
  c: Tensor,
  valueOrOptions: Keyword<'value'> = 1,
): Tensor {
  return naming('addcdiv', () => {
    expectTensors('addcdiv', a, b, c);
    const value = numberFrom('addcdiv', 'value', valueOrOptions);
    if (anyHalf(a, b, c)) return roundedOnce([a, b, c], (x, y, z) => addcdiv(x, y, z, value));
    return tidy(() => add(a, scaled(div(cast(b, promote(a.dtype, b.dtype)), c), value)));
  });
}

const scaled = (a: Tensor, value: number): Tensor => (value === 1 ? a : mul(a, value));

/** The largest finite number of each dtype. */
const largestOf = {
  float16: 65504,
  bfloat16: (2 - 2 ** -7) * 2 ** 127,
  float32: (2 - 2 ** -23) * 2 ** 127,
  float64: Number.MAX_VALUE,
} as const;

export const nanToNumOp = defineOp({
  name: 'nanToNum',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(
    E.select(
      E.precision(E.gt(x, E.const(largestOf.float32)), E.eq(x, E.const(Infinity))),
      E.attr('posinf'),
      E.select(
        E.precision(E.lt(x, E.const(-largestOf.float32)), E.eq(x, E.const(-Infinity))),
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

/** Replaces NaN and infinities by the given numbers, by default 0 and the dtype's largest numbers. */
export function nanToNum(a: Tensor, nan = 0, posinf?: number, neginf?: number): Tensor {
  expectTensors('nanToNum', a);
  const { dtype } = a;
  if (!dtypes[dtype].floating) return a;
  const largest = largestOf[dtype as keyof typeof largestOf];
  return bind1(nanToNumOp, [a], { nan, posinf: posinf ?? largest, neginf: neginf ?? -largest });
}

export const xlogyOp = defineOp({
  name: 'xlogy',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('xlogy'),
  kernel: pointwise(
    // 0 · ln y is 0 even if ln y is infinite or, for negative y, NaN; but NaN if y itself is.
    E.select(
      E.eq(x, E.const(0)),
      E.select(E.gt(E.add(E.gt(y, E.const(0)), E.le(y, E.const(0))), E.const(0)), E.const(0), y),
      E.mul(x, E.log(y)),
    ),
  ),
  vjp: {
    x: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => {
      const nothing = logicalAnd(eq(x, 0), le(y, 0));
      return sumTo(dropWhere(mul(dy, log(y)), nothing), x);
    }),
    y: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(mul(dy, div(x, y)), y)),
  },
});

/** a · ln b, but 0 where a is 0 (unless b is NaN). */
export function xlogy(a: Tensor, b: Operand): Tensor {
  expectTensors('xlogy', a);
  expectOperand('xlogy', b);
  return tidy(() => {
    const dtype = floating(isNumber(b) ? a.dtype : promote(a.dtype, b.dtype));
    const other = isNumber(b) ? fullLike(a, b, { shape: [], dtype }) : b;
    expectTensor(xlogyOp, other);
    return casting([a, other], dtype, (operands) => bind1(xlogyOp, operands));
  });
}

/** A tensor filled with a number or a scalar tensor, with the shape, dtype and device of `a`. */
export function fill(a: Tensor, value: Operand): Tensor {
  expectTensors('fill', a);
  expectOperand('fill', value);
  if (!(value instanceof Tensor)) return fullLike(a, value);
  return tidy(() => clone(expand(cast(value, a.dtype), a.shape)));
}
