/** Running maximum, minimum and log-sum-exp along a dimension. */

import { gradEnabled, noGrad } from '../../autograd/grad-mode.ts';
import * as scansKernels from '../../device/cpu/scalar/scan.ts';
import { type NamedKernel, named } from '../../device/kernel-op.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul, sub } from '../arithmetic/arithmetic.ts';
import { exp } from '../arithmetic/functions.ts';
import { isfinite, logicalNot } from '../arithmetic/logic.ts';
import { bind, bind1 } from '../core/bind.ts';
import { casting } from '../core/cast.ts';
import { floating, inferSame } from '../core/promotion.ts';
import { gatherFrom } from '../indexing/gather.ts';
import { reshape } from '../movement/movement.ts';
import { dropWhere } from '../pointwise/comparison.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { rowsBeforeDims } from '../record/row-cuts.ts';
import { amax } from './extremes.ts';
import { cumsumFromEnd } from './scans.ts';

type Chosen = [values: Tensor, indices: Tensor];

function running(kernel: NamedKernel<'cummax' | 'cummin'>) {
  const { name } = kernel;
  const op = defineOp({
    name,
    operands: { x: 'data' },
    attrs: { dim: 'dim' },
    infer: ([x]) => [
      { dtype: x!.dtype, shape: x!.shape },
      { dtype: 'int32', shape: x!.shape },
    ],
    kernel,
    rows: rowsBeforeDims,
    vjp: {
      x: saving({ x: 'shape', out1: 'value' }, ({ x, out1 }, dy, { dim }) =>
        gatherFrom(dy, out1, x, dim as number),
      ),
    },
  });
  return (x: Tensor, dim: number): Chosen => {
    expectTensors(name, x);
    const at = normalizeDim(dim, x.rank, name);
    return tidy(() => {
      if (x.rank > 0) return bind(op, [x], { dim: at }) as Chosen;
      const [values, indices] = bind(op, [reshape(x, [1])], { dim: 0 }) as Chosen;
      return [reshape(values, []), reshape(indices, [])] as Chosen;
    });
  };
}

/** Returns `[values, indices]`: the largest entry so far, and its last index. NaN counts as the largest. */
export const cummax = running(named('cummax', scansKernels.cummax));
/** Returns `[values, indices]`: the smallest entry so far, and its last index. NaN counts as the smallest. */
export const cummin = running(named('cummin', scansKernels.cummin));

export const logcumsumexpGradOp: OpRecord = defineOp({
  name: 'logcumsumexpGrad',
  operands: { dy: 'data', x: 'data', out: 'data' },
  attrs: { dim: 'dim' },
  dtypes: { dy: 'floating' },
  infer: inferSame,
  kernel: named('logcumsumexpGrad', scansKernels.logcumsumexpGrad),
  rows: rowsBeforeDims,
});

export const logcumsumexpOp: OpRecord = defineOp({
  name: 'logcumsumexp',
  operands: { x: 'data' },
  attrs: { dim: 'dim' },
  dtypes: { x: 'floating' },
  infer: inferSame,
  kernel: named('logcumsumexp', scansKernels.logcumsumexp),
  rows: rowsBeforeDims,
  vjp: {
    x: saving({ x: 'value', out: 'value' }, ({ x, out }, dy, attrs) =>
      gradEnabled()
        ? recordedGradient(dy, x, out, attrs.dim as number)
        : bind1(logcumsumexpGradOp, [dy, x, out], attrs),
    ),
  },
});

/**
 * Computes the gradient of `logcumsumexp` with ops that can be differentiated again: eˣ · the sum from the end of
 * dy · e^(−out).
 */
function recordedGradient(dy: Tensor, x: Tensor, out: Tensor, dim: number): Tensor {
  // No entry is the largest of none.
  if (x.numel() === 0) return mul(dy, out);
  // Cancels out, but prevents large x from overflowing.
  const shift = noGrad(() => finiteOr0(amax(x, dim, { keepDim: true })));
  const rest = cumsumFromEnd(mul(dy, exp(sub(shift, out))), dim);
  return mul(exp(sub(x, shift)), rest);
}

const finiteOr0 = (a: Tensor): Tensor => dropWhere(a, logicalNot(isfinite(a)));

/** ln Σ eˣ over everything up to each entry, without overflow. */
export function logcumsumexp(x: Tensor, dim: number): Tensor {
  expectTensors('logcumsumexp', x);
  const at = normalizeDim(dim, x.rank, 'logcumsumexp');
  return casting([x], floating(x.dtype), ([own]) => {
    if (x.rank > 0) return bind1(logcumsumexpOp, [own!], { dim: at });
    return tidy(() => reshape(bind1(logcumsumexpOp, [reshape(own!, [1])], { dim: 0 }), []));
  });
}
