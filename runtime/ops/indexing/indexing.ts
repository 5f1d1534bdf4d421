/**
 * An index per entry: an int32 operand stacks `count` index tensors of one shape, for adjacent dimensions. It is a
 * single operand for any count, so there is one kernel and one saved value.
 */

import * as indexingKernels from '../../device/cpu/movement/indexing.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import { naming } from '../../errors/naming.ts';
import { normalizeDim, type Shape, sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul } from '../arithmetic/arithmetic.ts';
import { bind1 } from '../core/bind.ts';
import { casting, counting } from '../core/cast.ts';
import { atleast1d } from '../movement/at-least.ts';
import { reshape } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { type Keyword, numberFrom } from '../record/positional.ts';
import { expectIndices, indices, mismatch } from './index-operands.ts';

const inferFirst = ([x]: readonly TensorMeta[]) => ({ dtype: x!.dtype, shape: x!.shape });

/** [...before, ...the indices' shape, ...after]. */
export function indexedShape(x: TensorMeta, index: TensorMeta, dim: number): Shape {
  const [count, ...chosen] = index.shape;
  return [...x.shape.slice(0, dim), ...chosen, ...x.shape.slice(dim + count!)];
}

export const indexOp: OpRecord = defineOp({
  name: 'index',
  operands: { x: 'data', index: 'data' },
  attrs: { dim: 'dim', wraps: 'boolean' },
  dtypes: { index: 'int32' },
  infer: ([x, index], { dim }) => ({
    dtype: x!.dtype,
    shape: indexedShape(x!, index!, dim as number),
  }),
  kernel: named('index', indexingKernels.index),
  mayRefuse: true,
  vjp: {
    x: saving({ x: 'shape', index: 'value' }, ({ x, index }, dy, attrs) =>
      bind1(indexGradOp, [dy, index, x as Tensor], attrs),
    ),
  },
});

export const indexGradOp: OpRecord = defineOp({
  name: 'indexGrad',
  operands: { dy: 'data', index: 'data', x: 'shape' },
  attrs: { dim: 'dim', wraps: 'boolean' },
  dtypes: { dy: 'number', index: 'int32', x: 'ignored' },
  infer: ([dy, , x]) => ({ dtype: dy!.dtype, shape: x!.shape }),
  kernel: named('indexGrad', indexingKernels.indexGrad),
  vjp: {
    dy: saving({ index: 'value' }, ({ index }, g, attrs) => bind1(indexOp, [g, index], attrs)),
  },
});

export const indexPutOp: OpRecord = defineOp({
  name: 'indexPut',
  operands: { x: 'data', index: 'data', source: 'data' },
  attrs: { dim: 'dim', wraps: 'boolean' },
  dtypes: { index: 'int32' },
  infer: inferFirst,
  kernel: named('indexPut', indexingKernels.indexPut),
  mayRefuse: true,
  vjp: {
    x: saving({ index: 'value' }, ({ index }, dy, attrs) => {
      const shape = indexedShape(dy, index, attrs.dim as number);
      const zero = fullLike(dy, 0, { shape });
      return bind1(indexPutOp, [dy, index, zero], attrs);
    }),
    source: saving({ index: 'value' }, ({ index }, dy, attrs) =>
      bind1(indexOp, [dy, index], attrs),
    ),
  },
});

export const indexAddOp: OpRecord = defineOp({
  name: 'indexAdd',
  operands: { x: 'data', index: 'data', source: 'data' },
  attrs: { dim: 'dim', wraps: 'boolean' },
  dtypes: { x: 'number', index: 'int32' },
  infer: inferFirst,
  kernel: named('indexAdd', indexingKernels.indexAdd),
  mayRefuse: true,
  vjp: {
    x: saving({}, (_saved, dy) => dy),
    source: saving({ index: 'value' }, ({ index }, dy, attrs) =>
      bind1(indexOp, [dy, index], attrs),
    ),
  },
});

/** Returns x[…, i0, i1, …] with the index tensors stacked in `index`, starting at dimension `dim`. */
export function indexed(x: Tensor, index: Tensor, attrs: Attrs): Tensor {
  return bind1(indexOp, [x, index], attrs);
}

/** Returns a copy of `x` with the elements at `index` replaced, or added to (for booleans: whether any is true). */
export function indexReplaced(
  x: Tensor,
  index: Tensor,
  source: Tensor,
  accumulate: boolean,
  attrs: Attrs,
): Tensor {
  const into = (own: Tensor): Tensor =>
    casting([source], own.dtype, ([values]) =>
      bind1(accumulate ? indexAddOp : indexPutOp, [own, index, values!], attrs),
    );
  return accumulate ? counting(x, into) : into(x);
}

export function entryIndex(op: string, index: Tensor): Tensor {
  expectIndices(op, index);
  if (index.rank > 1) throw mismatch(op, [index], 'indices in one dimension');
  return reshape(indices(index), [1, index.numel()]);
}

/** Returns the entries of dimension `dim` selected by `index` [k], in its order. */
export function indexSelect(x: Tensor, dim: number, index: Tensor): Tensor {
  return naming('indexSelect', () => {
    expectTensors('indexSelect', x, index);
    const at = normalizeDim(dim, x.rank, 'indexSelect');
    return tidy(() => {
      const out = indexed(atleast1d(x), entryIndex('indexSelect', index), {
        dim: at,
        wraps: false,
      });
      return x.rank === 0 ? reshape(out, []) : out;
    });
  });
}

function entriesReplaced(
  op: string,
  x: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
): Tensor {
  const at = normalizeDim(dim, x.rank, op);
  return tidy(() => {
    const [target, values, places] = [atleast1d(x), atleast1d(source), entryIndex(op, index)];
    const shape = indexedShape(target, places, at);
    if (values.rank !== target.rank || shape.some((size, d) => size !== values.shape[d])) {
      throw mismatch(op, [target, index, source], `a source of shape [${shape.join(',')}]`);
    }
    const attrs = { dim: at, wraps: false };
    const out = indexReplaced(target, places, values, op === 'indexAdd', attrs);
    return x.rank === 0 ? reshape(out, []) : out;
  });
}

/** Returns a copy of `x` with alpha times the entries of `source` added to those selected by `index` [k]. */
export function indexAdd(
  x: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  alphaOrOptions: Keyword<'alpha'> = 1,
): Tensor {
  expectTensors('indexAdd', x, index, source);
  const alpha = numberFrom('indexAdd', 'alpha', alphaOrOptions);
  return tidy(() =>
    entriesReplaced('indexAdd', x, dim, index, alpha === 1 ? source : mul(source, alpha)),
  );
}

/** Returns a copy of `x` with the entries selected by `index` [k] replaced by those of `source`. */
export function indexCopy(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  expectTensors('indexCopy', x, index, source);
  return naming('indexCopy', () => entriesReplaced('indexCopy', x, dim, index, source));
}

/** Elements of the flat tensor: out has the shape of `index`. */
export function take(x: Tensor, index: Tensor): Tensor {
  return naming('take', () => {
    expectTensors('take', x, index);
    expectIndices('take', index);
    return tidy(() => {
      const places = reshape(indices(index), [1, ...index.shape]);
      return indexed(reshape(x, [sizeOf(x.shape)]), places, { dim: 0, wraps: true });
    });
  });
}
