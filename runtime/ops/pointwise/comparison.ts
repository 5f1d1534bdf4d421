import { type DType, dtypes, promote } from '../../spec/dtype.ts';
import { broadcastShapes } from '../../spec/shape.ts';
import { expectHeld, isHeld } from '../../spec/stored-numbers.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { logicalNot } from '../arithmetic/logic.ts';
import { bind1 } from '../core/bind.ts';
import { sumTo } from '../core/broadcast.ts';
import { casting } from '../core/cast.ts';
import {
  bindPromoted,
  inferBinary,
  inferBool,
  inferSame,
  joinedBy,
  type Operand,
  pointwise,
} from '../core/promotion.ts';
import { E } from '../expr/expr.ts';
import { nonzeroColumns } from '../indexing/data-dependent.ts';
import { fullLike } from '../movement/ranges.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp, expectTensor, type OpRecord, saving } from '../record/define-op.ts';
import { asNumber, expectOperand, expectTensors, noTensor } from '../record/expect-tensors.ts';

const x = E.input(0);
const y = E.input(1);
const value = E.attr('value');

const compareOps = {
  eq: comparison('eq'),
  ne: comparison('ne'),
  lt: comparison('lt'),
  le: comparison('le'),
  gt: comparison('gt'),
  ge: comparison('ge'),
} as const;

function comparison(name: 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge') {
  return {
    tensor: defineOp({
      name,
      operands: { x: 'data', y: 'data' },
      infer: inferBinary(name, 'bool'),
      kernel: pointwise(E[name](x, y)),
    }),
    scalar: defineOp({
      name: `${name}Scalar`,
      operands: { x: 'data' },
      infer: inferBool,
      kernel: pointwise(E[name](x, value)),
    }),
  };
}

export const whereOp = defineOp({
  name: 'where',
  operands: { test: 'data', x: 'data', y: 'data' },
  infer: ([test, a, b]) => {
    const { dtype, shape } = inferBinary('where')([a!, b!]);
    return { dtype, shape: broadcastShapes(test!.shape, shape, 'where') };
  },
  kernel: pointwise(E.select(E.ne(x, E.const(0)), y, E.input(2))),
  vjp: {
    x: saving({ test: 'value', x: 'shape' }, ({ test, x }, dy) =>
      sumTo(bind1(keepWhereOp, [dy, test]), x),
    ),
    y: saving({ test: 'value', y: 'shape' }, ({ test, y }, dy) =>
      sumTo(bind1(dropWhereOp, [dy, test]), y),
    ),
  },
});

// 0 where the other operand was selected: multiplying by a mask would turn Infinity into NaN.
export const keepWhereOp: OpRecord = defineOp({
  name: 'keepWhere',
  operands: { dy: 'data', test: 'data' },
  infer: inferSame,
  kernel: pointwise(E.select(E.ne(y, E.const(0)), x, E.const(0))),
  vjp: { dy: saving({ test: 'value' }, ({ test }, g) => bind1(keepWhereOp, [g, test])) },
});

export const dropWhereOp: OpRecord = defineOp({
  name: 'dropWhere',
  operands: { dy: 'data', test: 'data' },
  infer: inferSame,
  kernel: pointwise(E.select(E.ne(y, E.const(0)), E.const(0), x)),
  vjp: { dy: saving({ test: 'value' }, ({ test }, g) => bind1(dropWhereOp, [g, test])) },
});

function compare(name: keyof typeof compareOps) {
  const { tensor, scalar } = compareOps[name];
  return (a: Tensor, b: Operand | boolean): Tensor =>
    isScalar(b) ? bindCompared(scalar, a, asNumber(b)) : bindPromoted(tensor, a, b);
}

/** Compares integers with an integer exactly, even if int32 can't represent it. */
function bindCompared(op: OpRecord, a: Tensor, value: number): Tensor {
  expectTensor(op, a);
  if (dtypes[a.dtype].floating) return bind1(op, [a], { value });
  const joined = joinedBy(a.dtype, value);
  const dtype = joined === 'int32' && !isHeld(value, 'int32') ? 'float64' : joined;
  return casting([a], dtype, (operands) => bind1(op, operands, { value }));
}

/** Whether a = b, broadcast; bool. */
export const eq = compare('eq');
/** Whether a ≠ b, broadcast; bool. */
export const ne = compare('ne');
/** Whether a < b, broadcast; bool. */
export const lt = compare('lt');
/** Whether a ≤ b, broadcast; bool. */
export const le = compare('le');
/** Whether a > b, broadcast; bool. */
export const gt = compare('gt');
/** Whether a ≥ b, broadcast; bool. */
export const ge = compare('ge');

/** Zeroes elements where `mask` is true, even infinite ones. */
export function dropWhere(a: Tensor, mask: Tensor): Tensor {
  return bind1(dropWhereOp, [a, mask]);
}

/** Zeroes elements where `mask` is false. */
export function keepWhere(a: Tensor, mask: Tensor): Tensor {
  return bind1(keepWhereOp, [a, mask]);
}

export const maskedFillOp = defineOp({
  name: 'maskedFill',
  operands: { x: 'data', mask: 'data' },
  infer: ([a, mask]) => ({
    dtype: a!.dtype,
    shape: broadcastShapes(a!.shape, mask!.shape, 'maskedFill'),
  }),
  kernel: pointwise(E.select(E.ne(y, E.const(0)), value, x)),
  vjp: {
    x: saving({ x: 'shape', mask: 'value' }, ({ x, mask }, dy) => sumTo(dropWhere(dy, mask), x)),
  },
});

/**
 * `value` where `mask` is true, else `a`, in the dtype of `a`: for integers, a number's fraction is dropped.
 * Throws DTypeError for a number that the dtype can't represent.
 */
export function maskedFill(a: Tensor, mask: Tensor, fill: Operand | boolean): Tensor {
  expectTensors('maskedFill', a, mask);
  const value = asNumber(fill);
  expectOperand('maskedFill', value);
  expectTensor(maskedFillOp, mask);
  if (!isNumber(value)) {
    expectTensor(maskedFillOp, value);
    return casting([value], a.dtype, ([own]) => where(mask, own!, a));
  }
  expectHeld(value, a.dtype, 'maskedFill');
  const held = a.dtype === 'bool' ? Number(+value !== 0) : value;
  return casting([mask], 'bool', ([test]) => bind1(maskedFillOp, [a, test!], { value: held }));
}

/** `maskedFill` in the dtype promoted with the number. */
const filledWhere = (a: Tensor, mask: Tensor, value: number | boolean): Tensor =>
  casting([a], joined(a.dtype, value), ([own]) => maskedFill(own!, mask, value));

/** Returns the promoted dtype; a boolean doesn't change it. */
const joined = (dtype: DType, value: number | boolean): DType =>
  typeof value === 'boolean' ? dtype : joinedBy(dtype, value);

const isScalar = (value: unknown): value is number | boolean => isNumber(asNumber(value));

/** Selects between two numbers: int32 if both are integers, else float32; bool for booleans. */
function chosenNumber(test: Tensor, a: number | boolean, b: number | boolean): Tensor {
  expectTensor(whereOp, test);
  const dtype = joined(joined('bool', a), b);
  return tidy(() => maskedFill(fullLike(test, +b, { dtype }), test, a));
}

/** Elements of `a` where `test` is true, else of `b`; all broadcast, and `a` and `b` may be numbers or booleans. */
export function where(test: Tensor, a: Operand | boolean, b: Operand | boolean): Tensor;
/** The indices of nonzero elements: one int32 vector per dimension. Reads the data. */
export function where(test: Tensor): Tensor[];
export function where(
  test: Tensor,
  a?: Operand | boolean,
  b?: Operand | boolean,
): Tensor | Tensor[] {
  expectTensors('where', test);
  if (a === undefined && b === undefined) return nonzeroColumns('where', test);
  if (a === undefined || b === undefined) throw noTensor('where', undefined);
  if (isScalar(a) && isScalar(b)) return chosenNumber(test, a, b);
  if (isScalar(b)) return tidy(() => filledWhere(a as Tensor, logicalNot(test), b));
  if (isScalar(a)) return filledWhere(b, test, a);
  expectTensor(whereOp, a);
  expectTensor(whereOp, b);
  return casting([test], 'bool', ([mask]) =>
    casting([a, b], promote(a.dtype, b.dtype), (choices) => bind1(whereOp, [mask!, ...choices])),
  );
}
