/** The angle of a point. */

import { promote } from '../../spec/dtype.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, neg } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { bind1 } from '../core/bind.ts';
import { sumTo } from '../core/broadcast.ts';
import { casting } from '../core/cast.ts';
import { floating, inferBinary, pointwise } from '../core/promotion.ts';
import { E } from '../expr/expr.ts';
import * as F from '../expr/expr-functions.ts';
import { defineOp, expectTensor, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { dropWhere, eq } from './comparison.ts';

export const atan2Op = defineOp({
  name: 'atan2',
  operands: { y: 'data', x: 'data' },
  infer: inferBinary('atan2'),
  kernel: pointwise(F.atan2(E.input(0), E.input(1))),
  vjp: {
    y: saving({ y: 'value', x: 'value' }, ({ y, x }, dy) =>
      sumTo(mul(dy, perSquaredLength(x, x, y)), y),
    ),
    x: saving({ y: 'value', x: 'value' }, ({ y, x }, dy) =>
      sumTo(neg(mul(dy, perSquaredLength(y, x, y))), x),
    ),
  },
});

/** a / (x² + y²), and 0 at the origin, where the angle has no derivative. */
function perSquaredLength(a: Tensor, x: Tensor, y: Tensor): Tensor {
  const squared = add(mul(x, x), mul(y, y));
  return dropWhere(div(a, squared), eq(squared, 0));
}

/** The angle of the point (x, y), from −π to π. */
export function atan2(y: Tensor, x: Tensor): Tensor {
  expectTensors('atan2', y, x);
  expectTensor(atan2Op, x);
  return casting([y, x], floating(promote(y.dtype, x.dtype)), (operands) =>
    bind1(atan2Op, operands),
  );
}
