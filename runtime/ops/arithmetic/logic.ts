/** Logic on tensors of any dtype, and classification of elements. */

import type { TensorMeta } from '../../device/tensor-meta.ts';
import { broadcastShapes } from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { inferBool, pointwise } from '../core/promotion.ts';
import { E, type Expr } from '../expr/expr.ts';
import { defineOp, expectTensor } from '../record/define-op.ts';

const x = E.input(0);
const isTrue = (a: Expr): Expr => E.ne(a, E.const(0));

/** Defines a logical op: everything except 0 is true, including NaN. */
function logical(name: string, expr: (a: Expr, b: Expr) => Expr) {
  const op = defineOp({
    name,
    operands: { x: 'data', y: 'data' },
    infer: ([a, b]: readonly TensorMeta[]) => ({
      dtype: 'bool',
      shape: broadcastShapes(a!.shape, b!.shape, name),
    }),
    kernel: pointwise(expr(isTrue(x), isTrue(E.input(1)))),
  });
  return (a: Tensor, b: Tensor): Tensor => {
    expectTensor(op, a);
    expectTensor(op, b);
    return bind1(op, [a, b]);
  };
}

/** Whether both elements are other than 0; bool. */
export const logicalAnd = logical('logicalAnd', (a, b) => E.select(a, b, E.const(0)));
/** Whether at least one of two elements is other than 0; bool. */
export const logicalOr = logical('logicalOr', (a, b) => E.select(a, E.const(1), b));
/** Whether exactly one of two elements is other than 0; bool. */
export const logicalXor = logical('logicalXor', (a, b) => E.ne(a, b));

/** Defines an op that returns a boolean per element. */
function predicate(name: string, expr: Expr) {
  const op = defineOp({ name, operands: { x: 'data' }, infer: inferBool, kernel: pointwise(expr) });
  return (a: Tensor): Tensor => bind1(op, [a]);
}

/** Whether an element is 0; bool. */
export const logicalNot = predicate('logicalNot', E.eq(x, E.const(0)));
// Uses comparisons that GPU drivers don't fold: NaN is neither above 0 nor not above 0.
/** Whether an element is NaN; bool. */
export const isnan = predicate(
  'isnan',
  E.eq(E.add(E.gt(x, E.const(0)), E.le(x, E.const(0))), E.const(0)),
);
/** Whether an element is infinite; bool. */
export const isinf = predicate('isinf', E.eq(E.abs(x), E.const(Infinity)));
/** Whether an element is neither infinite nor NaN; bool. */
export const isfinite = predicate('isfinite', E.lt(E.abs(x), E.const(Infinity)));
