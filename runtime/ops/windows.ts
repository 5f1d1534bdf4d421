/** Windows that slide over a dimension. */

import { ArgumentError } from '../errors/errors.ts';
import { formatSpec } from '../tensor/meta.ts';
import { normalizeDim } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { bind1 } from './bind.ts';
import { defineOp, type OpRecord, saving } from './define-op.ts';
import { reshape } from './movement.ts';
import { replaced } from './views.ts';

const unfoldOp: OpRecord = defineOp({
  name: 'unfold',
  operands: { x: 'data' },
  infer: ([x], { dim, size, count }) => ({
    dtype: x!.dtype,
    shape: [...replaced(x!.shape, dim as number, count as number), size as number],
  }),
  kernel: {
    kind: 'view',
    view: ([x], { dim, size, step, count }) => {
      const at = dim as number;
      const { dtype, shape, strides, offset, device } = x!;
      return {
        dtype,
        shape: [...replaced(shape, at, count as number), size as number],
        strides: [...replaced(strides, at, strides[at]! * (step as number)), strides[at]!],
        offset,
        device,
      };
    },
  },
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy, { dim, step }) =>
      bind1(unfoldGradOp, [dy, x as Tensor], { dim: dim!, step: step! }),
    ),
  },
});

const unfoldGradOp: OpRecord = defineOp({
  name: 'unfoldGrad',
  operands: { dy: 'data', x: 'shape' },
  infer: ([dy, x]) => ({ dtype: dy!.dtype, shape: x!.shape }),
  kernel: { kind: 'named', name: 'unfoldGrad' },
  vjp: {
    dy: saving({ dy: 'shape' }, ({ dy }, g, { dim, step }) => {
      const size = dy.shape.at(-1)!;
      return bind1(unfoldOp, [g], {
        dim: dim!,
        step: step!,
        size,
        count: dy.shape[dim as number]!,
      });
    }),
  },
});

/** Windows of `size` entries of a dimension, `step` apart; the window becomes the last dimension. */
export function unfold(x: Tensor, dim: number, size: number, step: number): Tensor {
  const at = normalizeDim(dim, x.rank, 'unfold');
  const entries = x.shape[at] ?? 1;
  const whole = [size, step].every(Number.isInteger);
  if (!whole || size < 0 || size > entries || step < 1) {
    throw new ArgumentError({
      what: 'unfold: no such windows',
      given: `size ${size}, step ${step} in dimension ${at} of ${formatSpec(x)}`,
      expected: `a size from 0 to ${entries}, and a step from 1 on`,
      remedy: 'pad() the dimension, or use smaller windows',
    });
  }
  // A scalar counts as one entry, in one window.
  if (x.rank === 0) return reshape(x, [size]);
  const count = Math.floor((entries - size) / step) + 1;
  return bind1(unfoldOp, [x], { dim: at, size, step, count });
}
