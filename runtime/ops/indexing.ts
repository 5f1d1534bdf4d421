/** Elements and entries chosen by int32 tensors. */

import { DTypeError, ShapeError } from '../errors/errors.ts';
import { tidy } from '../tensor/lifetime.ts';
import { formatSpec, type TensorMeta } from '../tensor/meta.ts';
import { normalizeDim, type Shape, sizeOf } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { bind1 } from './bind.ts';
import { expand } from './broadcast.ts';
import { casting } from './cast.ts';
import { type Attrs, defineOp, type OpRecord, saving } from './define-op.ts';
import { narrow, reshape } from './movement.ts';
import { fullLike } from './ranges.ts';

export function expectIndices(op: string, index: TensorMeta): void {
  if (index.dtype === 'int32') return;
  throw new DTypeError({
    what: `${op}: indices must be integers`,
    given: formatSpec(index),
    expected: 'int32',
    remedy: "cast them: index.to('int32')",
  });
}

function mismatch(op: string, metas: readonly TensorMeta[], expected: string): ShapeError {
  return new ShapeError({
    what: `${op}: the shapes don't fit together`,
    given: metas.map(formatSpec).join(', '),
    expected,
    remedy: 'check the dimension, and the shapes of the indices',
  });
}

// One index per element: gather and scatter

const gatherOp: OpRecord = defineOp({
  name: 'gather',
  operands: { x: 'data', index: 'data' },
  infer: ([x, index]) => ({ dtype: x!.dtype, shape: index!.shape }),
  kernel: { kind: 'named', name: 'gather' },
  layout: 'any',
  vjp: {
    x: saving({ x: 'shape', index: 'value' }, ({ x, index }, dy, attrs) =>
      gatherFrom(dy, index, x, attrs.dim as number),
    ),
  },
});

const gatherGradOp: OpRecord = defineOp({
  name: 'gatherGrad',
  operands: { dy: 'data', index: 'data', x: 'shape' },
  infer: ([, , x]) => ({ dtype: x!.dtype, shape: x!.shape }),
  kernel: { kind: 'named', name: 'gatherGrad' },
  layout: 'any',
  vjp: {
    dy: saving({ index: 'value' }, ({ index }, g, attrs) => bind1(gatherOp, [g, index], attrs)),
  },
});

/** The gradient of `x` when dy is the gradient of its elements at `index` along `dim`. */
export function gatherFrom(dy: Tensor, index: Tensor, x: TensorMeta, dim: number): Tensor {
  return bind1(gatherGradOp, [dy, index, x as Tensor], { dim });
}

const inferFirst = ([x]: readonly TensorMeta[]) => ({ dtype: x!.dtype, shape: x!.shape });

const scatterOp: OpRecord = defineOp({
  name: 'scatter',
  operands: { x: 'data', index: 'data', source: 'data' },
  infer: inferFirst,
  kernel: { kind: 'named', name: 'scatter' },
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

const scatterAddOp: OpRecord = defineOp({
  name: 'scatterAdd',
  operands: { x: 'data', index: 'data', source: 'data' },
  infer: inferFirst,
  kernel: { kind: 'named', name: 'scatterAdd' },
  layout: 'any',
  vjp: {
    x: saving({}, (_saved, dy) => dy),
    source: saving({ index: 'value' }, ({ index }, dy, attrs) =>
      bind1(gatherOp, [dy, index], attrs),
    ),
  },
});

/** A scalar counts as having one dimension, as in PyTorch. */
const atLeast1d = (x: Tensor): Tensor => (x.rank === 0 ? reshape(x, [1]) : x);

function expectWithin(op: string, x: Tensor, index: Tensor, dim: number): void {
  const fits = index.shape.every((size, d) => d === dim || size <= x.shape[d]!);
  if (index.size === 0 || (index.rank === x.rank && fits)) return;
  const expected = `as many dimensions, and no size over the tensor's but in dimension ${dim}`;
  throw mismatch(op, [x, index], expected);
}

/** out[i][j] = x[index[i][j]][j] for `dim` 0: an entry of the dimension for every place of `index`. */
export function gather(x: Tensor, dim: number, index: Tensor): Tensor {
  const at = normalizeDim(dim, x.rank, 'gather');
  expectIndices('gather', index);
  return tidy(() => {
    const [source, places] = [atLeast1d(x), atLeast1d(index)];
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
    const [target, places] = [atLeast1d(x), atLeast1d(index)];
    expectWithin(op.name, target, places, at);
    const given =
      typeof source === 'number'
        ? expand(fullLike(x, source, { shape: [] }), places.shape)
        : partOf(op, atLeast1d(source), places);
    return casting([given], x.dtype, ([values]) => {
      const out = bind1(op, [target, places, values!], { dim: at });
      return x.rank === 0 ? reshape(out, []) : out;
    });
  });
}

/** Only the part of the source that the index speaks of is read. */
function partOf(op: OpRecord, source: Tensor, index: Tensor): Tensor {
  if (source.rank !== index.rank || index.shape.some((size, d) => size > source.shape[d]!)) {
    throw mismatch(op.name, [source, index], 'a source at least as large as the index');
  }
  return index.shape.reduce(
    (own, size, d) => (own.shape[d] === size ? own : narrow(own, d, 0, size)),
    source,
  );
}

/** A copy of `x` in which out[index[i][j]][j] = source[i][j] for `dim` 0; of equal places the last wins. */
export function scatter(x: Tensor, dim: number, index: Tensor, source: Tensor | number): Tensor {
  return scattered(scatterOp, x, dim, index, source);
}

/** The same, added to what is there. */
export function scatterAdd(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  return scattered(scatterAddOp, x, dim, index, source);
}

/** `gather` after broadcasting: the sizes of `x` and `indices` may differ by 1s. Flat without `dim`. */
export function takeAlongDim(x: Tensor, indices: Tensor, dim?: number): Tensor {
  return tidy(() => {
    if (dim === undefined) return gather(reshape(x, [-1]), 0, reshape(indices, [-1]));
    const at = normalizeDim(dim, x.rank, 'takeAlongDim');
    const common = x.shape.map((size, d) => Math.max(size, indices.shape[d] ?? 1));
    const shapeFor = (own: Tensor) => common.map((size, d) => (d === at ? own.shape[d]! : size));
    return gather(expand(x, shapeFor(x)), at, expand(indices, shapeFor(indices)));
  });
}

// One index per entry: `index` holds `count` index tensors of one shape, for as many dimensions

/** [...before, ...the indices' shape, ...after]. */
export function indexedShape(x: TensorMeta, index: TensorMeta, dim: number): Shape {
  const [count, ...chosen] = index.shape;
  return [...x.shape.slice(0, dim), ...chosen, ...x.shape.slice(dim + count!)];
}

const indexOp: OpRecord = defineOp({
  name: 'index',
  operands: { x: 'data', index: 'data' },
  infer: ([x, index], { dim }) => ({
    dtype: x!.dtype,
    shape: indexedShape(x!, index!, dim as number),
  }),
  kernel: { kind: 'named', name: 'index' },
  vjp: {
    x: saving({ x: 'shape', index: 'value' }, ({ x, index }, dy, attrs) =>
      bind1(indexGradOp, [dy, index, x as Tensor], attrs),
    ),
  },
});

const indexGradOp: OpRecord = defineOp({
  name: 'indexGrad',
  operands: { dy: 'data', index: 'data', x: 'shape' },
  infer: ([, , x]) => ({ dtype: x!.dtype, shape: x!.shape }),
  kernel: { kind: 'named', name: 'indexGrad' },
  vjp: {
    dy: saving({ index: 'value' }, ({ index }, g, attrs) => bind1(indexOp, [g, index], attrs)),
  },
});

const indexPutOp: OpRecord = defineOp({
  name: 'indexPut',
  operands: { x: 'data', index: 'data', source: 'data' },
  infer: inferFirst,
  kernel: { kind: 'named', name: 'indexPut' },
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

const indexAddOp: OpRecord = defineOp({
  name: 'indexAdd',
  operands: { x: 'data', index: 'data', source: 'data' },
  infer: inferFirst,
  kernel: { kind: 'named', name: 'indexAdd' },
  vjp: {
    x: saving({}, (_saved, dy) => dy),
    source: saving({ index: 'value' }, ({ index }, dy, attrs) =>
      bind1(indexOp, [dy, index], attrs),
    ),
  },
});

/** x[…, i0, i1, …] with the index tensors stacked in `index`, from dimension `dim` on. */
export function indexed(x: Tensor, index: Tensor, attrs: Attrs): Tensor {
  return bind1(indexOp, [x, index], attrs);
}

/** A copy of `x` with those elements replaced, or added to. */
export function indexReplaced(
  x: Tensor,
  index: Tensor,
  source: Tensor,
  accumulate: boolean,
  attrs: Attrs,
): Tensor {
  return casting([source], x.dtype, ([values]) =>
    bind1(accumulate ? indexAddOp : indexPutOp, [x, index, values!], attrs),
  );
}

function entryIndex(op: string, index: Tensor): Tensor {
  expectIndices(op, index);
  if (index.rank > 1) throw mismatch(op, [index], 'indices in one dimension');
  return reshape(index, [1, index.size]);
}

/** The entries of dimension `dim` that `index` [k] names, in its order. */
export function indexSelect(x: Tensor, dim: number, index: Tensor): Tensor {
  const at = normalizeDim(dim, x.rank, 'indexSelect');
  return tidy(() => {
    const out = indexed(atLeast1d(x), entryIndex('indexSelect', index), { dim: at, wraps: false });
    return x.rank === 0 ? reshape(out, []) : out;
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
    const [target, values, places] = [atLeast1d(x), atLeast1d(source), entryIndex(op, index)];
    const shape = indexedShape(target, places, at);
    if (values.rank !== target.rank || shape.some((size, d) => size !== values.shape[d])) {
      throw mismatch(op, [target, index, source], `a source of shape [${shape.join(',')}]`);
    }
    const attrs = { dim: at, wraps: false };
    const out = indexReplaced(target, places, values, op === 'indexAdd', attrs);
    return x.rank === 0 ? reshape(out, []) : out;
  });
}

/** A copy of `x` with the entries of `source` added to those that `index` [k] names. */
export function indexAdd(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  return entriesReplaced('indexAdd', x, dim, index, source);
}

/** A copy of `x` with the entries of `source` in place of those that `index` [k] names. */
export function indexCopy(x: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  return entriesReplaced('indexCopy', x, dim, index, source);
}

/** A copy of `x` with a number in the entries that `index` [k] names. */
export function indexFill(x: Tensor, dim: number, index: Tensor, value: number): Tensor {
  return tidy(() => {
    const at = normalizeDim(dim, x.rank, 'indexFill');
    const shape = indexedShape(atLeast1d(x), entryIndex('indexFill', index), at);
    return indexCopy(x, dim, index, fullLike(x, value, { shape }));
  });
}

/** Elements of the flat tensor: out has the shape of `index`. */
export function take(x: Tensor, index: Tensor): Tensor {
  expectIndices('take', index);
  return tidy(() => {
    const places = reshape(index, [1, ...index.shape]);
    return indexed(reshape(x, [sizeOf(x.shape)]), places, { dim: 0, wraps: true });
  });
}

/** Rows of `weight` [n, size] for every index: the gradient adds up what each row is used for. */
export function embedding(weight: Tensor, indices: Tensor): Tensor {
  expectIndices('embedding', indices);
  if (weight.rank !== 2) throw mismatch('embedding', [weight], 'a matrix [entries, size]');
  return tidy(() =>
    indexed(weight, reshape(indices, [1, ...indices.shape]), { dim: 0, wraps: false }),
  );
}
