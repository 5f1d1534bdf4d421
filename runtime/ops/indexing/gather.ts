/** An index per element: gather and its inverse, scatter. */

import * as indexingKernels from '../../device/cpu/movement/indexing.ts';
import { named } from '../../device/kernel-op.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { expand } from '../core/broadcast.ts';
import { casting, counting } from '../core/cast.ts';
import { atleast1d } from '../movement/at-least.ts';
import { narrow, reshape } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { asNumber, expectOperand, expectTensors } from '../record/expect-tensors.ts';
import { expectIndices, indices, mismatch } from './index-operands.ts';

export const gatherOp: OpRecord = defineOp({
  name: 'gather',
  operands: { x: 'data', index: 'data' },
  attrs: { dim: 'dim' },
  dtypes: { index: 'int32' },
  infer: ([x, index]) => ({ dtype: x!.dtype, shape: index!.shape }),
  kernel: named('gather', indexingKernels.gather),
  mayRefuse: true,
  layout: 'any',
  vjp: {
    x: saving({ x: 'shape', index: 'value' }, ({ x, index }, dy, attrs) =>
      gatherFrom(dy, index, x, attrs.dim as number),
    ),
  },
});

export const gatherGradOp: OpRecord = defineOp({
  name: 'gatherGrad',
  operands: { dy: 'data', index: 'data', x: 'shape' },
  attrs: { dim: 'dim' },
  dtypes: { dy: 'number', index: 'int32', x: 'ignored' },
  infer: ([dy, , x]) => ({ dtype: dy!.dtype, shape: x!.shape }),
  kernel: named('gatherGrad', indexingKernels.gatherGrad),
  layout: 'any',
  vjp: {
    dy: saving({ index: 'value' }, ({ index }, g, attrs) => bind1(gatherOp, [g, index], attrs)),
  },
});

/** Returns the gradient of `x`, given the gradient dy of its elements at `index` along `dim`. */
export function gatherFrom(dy: Tensor, index: Tensor, x: TensorMeta, dim: number): Tensor {
  return bind1(gatherGradOp, [dy, index, x as Tensor], { dim });
}

const inferFirst = ([x]: readonly TensorMeta[]) => ({ dtype: x!.dtype, shape: x!.shape });

export const scatterOp: OpRecord = defineOp({
  name: 'scatter',
  operands: { x: 'data', index: 'data', source: 'data' },
  attrs: { dim: 'dim' },
  dtypes: { index: 'int32' },
  infer: inferFirst,
  kernel: named('scatter', indexingKernels.scatter),
  mayRefuse: true,
  layout: 'any',
  vjp: {
    x: saving({ index: 'value' }, ({ index }, dy, attrs) => {
      const zero = expand(fullLike(dy, 0, { shape: [] }), index.shape);
      return bind1(scatterOp, [dy, index, zero], attrs);
    }),
    source: saving({ index: 'value' }, ({ index }, dy, attrs) =>
      bind1(gatherOp, [dy, index], attrs),
    ),
  },
});

export const scatterAddOp: OpRecord = defineOp({
  name: 'scatterAdd',
  operands: { x: 'data', index: 'data', source: 'data' },
  attrs: { dim: 'dim' },
  dtypes: { x: 'number', index: 'int32' },
  infer: inferFirst,
  kernel: named('scatterAdd', indexingKernels.scatterAdd),
  mayRefuse: true,
  layout: 'any',
  vjp: {
    x: saving({}, (_saved, dy) => dy),
    source: saving({ index: 'value' }, ({ index }, dy, attrs) =>
      bind1(gatherOp, [dy, index], attrs),
    ),
  },
});

export function expectWithin(op: string, x: Tensor, index: Tensor, dim: number): void {
  const fits = index.shape.every((size, d) => d === dim || size <= x.shape[d]!);
  if (index.numel() === 0 || (index.rank === x.rank && fits)) return;
  const expected = `as many dimensions, and no size over the tensor's but in dimension ${dim}`;
  throw mismatch(op, [x, index], expected);
}

/** out[i][j] = x[index[i][j]][j] for `dim` 0: one entry of the dimension for each element of `index`. */
export function gather(x: Tensor, dim: number, index: Tensor): Tensor {
  expectTensors('gather', x, index);
  const at = normalizeDim(dim, x.rank, 'gather');
  expectIndices('gather', index);
  return tidy(() => {
    const [source, places] = [atleast1d(x), atleast1d(indices(index))];
    expectWithin('gather', source, places, at);
    const out = bind1(gatherOp, [source, places], { dim: at });
    return index.rank === 0 ? reshape(out, []) : out;
  });
}

function scattered(
  op: OpRecord,
  x: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor | number,
): Tensor {
  const at = normalizeDim(dim, x.rank, op.name);
  expectIndices(op.name, index);
  return tidy(() => {
    const [target, places] = [atleast1d(x), atleast1d(indices(index))];
    expectWithin(op.name, target, places, at);
    const part = isNumber(source)
      ? expand(fullLike(x, source, { shape: [] }), places.shape)
      : partOf(op.name, atleast1d(source), places);
    const into = (target: Tensor): Tensor =>
      casting([part], target.dtype, ([values]) => {
        const out = bind1(op, [target, places, values!], { dim: at });
        return x.rank === 0 ? reshape(out, []) : out;
      });
    return op === scatterAddOp ? counting(target, into) : into(target);
  });
}

/** Returns the part of the source that the index covers; only that is read. */
export function partOf(op: string, source: Tensor, index: Tensor): Tensor {
  if (source.rank !== index.rank || index.shape.some((size, d) => size > source.shape[d]!)) {
    throw mismatch(op, [source, index], 'a source at least as large as the index');
  }
  return index.shape.reduce(
    (result, size, d) => (result.shape[d] === size ? result : narrow(result, d, 0, size)),
    source,
  );
}

/** Returns a copy of `x` with out[index[i][j]][j] = source[i][j] for `dim` 0; the last of repeated indices wins. */
export function scatter(
  x: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor | number | boolean,
): Tensor {
  expectTensors('scatter', x, index);
  const values = asNumber(source);
  expectOperand('scatter', values);
  return scattered(scatterOp, x, dim, index, values);
}

/** Returns a copy of `x` with elements of `source` added at the positions of `scatter`; logical or for booleans. */
export function scatterAdd(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  expectTensors('scatterAdd', x, index, source);
  return scattered(scatterAddOp, x, dim, index, source);
}
