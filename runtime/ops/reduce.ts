import { DTypeError, ShapeError } from '../errors/errors.ts';
import { dtypes } from '../tensor/dtype.ts';
import { tidy } from '../tensor/lifetime.ts';
import { formatSpec, type TensorMeta } from '../tensor/meta.ts';
import { normalizeDim, type Shape } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { bind1 } from './bind.ts';
import { cast, casting } from './cast.ts';
import { type Attrs, defineOp, saving } from './define-op.ts';
import { reshape } from './movement.ts';
import { div, eq, mul } from './pointwise.ts';

function reducedShape(shape: Shape, dims: readonly number[], keepDim: boolean): Shape {
  if (keepDim) return shape.map((dim, i) => (dims.includes(i) ? 1 : dim));
  return shape.filter((_, i) => !dims.includes(i));
}

function inferReduced([x]: readonly TensorMeta[], { dims, keepDim }: Attrs) {
  return {
    dtype: x!.dtype,
    shape: reducedShape(x!.shape, dims as readonly number[], keepDim as boolean),
  };
}

/** There is no largest of nothing. */
function expectEntries(name: string, x: TensorMeta, dims: readonly number[]): void {
  if (dims.every((dim) => x.shape[dim] !== 0)) return;
  throw new ShapeError({
    what: `${name}: nothing to choose from`,
    given: `${formatSpec(x)} reduced over dimension ${dims.join(', ')}`,
    expected: 'at least one entry',
    remedy: 'leave empty batches out',
  });
}

/** Reads a reduced tensor as if the reduced dimensions were there again. */
function unreducedView([y, like]: readonly TensorMeta[], { dims, keepDim }: Attrs): TensorMeta {
  const reduced = dims as readonly number[];
  let next = 0;
  const strides = like!.shape.map((_, i) => {
    if (!reduced.includes(i)) return y!.strides[next++]!;
    if (keepDim) next++;
    return 0;
  });
  return { dtype: y!.dtype, shape: like!.shape, strides, offset: y!.offset, device: y!.device };
}

const unreduceOp = defineOp({
  name: 'unreduce',
  operands: { x: 'data', like: 'shape' },
  infer: ([x, like]) => ({ dtype: x!.dtype, shape: like!.shape }),
  kernel: { kind: 'view', view: unreducedView },
  vjp: {
    x: saving({}, (_saved, dy, { dims, keepDim }) =>
      bind1(sumOp, [dy], { dims: dims!, keepDim: keepDim! }),
    ),
  },
});

/** Undoes the shape of a reduction: repeats `x` along `dims` to the shape of `like`. */
function unreduce(x: Tensor, like: TensorMeta, { dims, keepDim }: Attrs): Tensor {
  return bind1(unreduceOp, [x, like as Tensor], { dims: dims!, keepDim: keepDim! });
}

const sumOp = defineOp({
  name: 'sum',
  operands: { x: 'data' },
  infer: inferReduced,
  kernel: { kind: 'named', name: 'sum' },
  layout: 'any',
  vjp: { x: saving({ x: 'shape' }, ({ x }, dy, attrs) => unreduce(dy, x, attrs)) },
});

const maxOp = defineOp({
  name: 'max',
  operands: { x: 'data' },
  infer: ([x], attrs) => {
    expectEntries('max', x!, attrs.dims as readonly number[]);
    return inferReduced([x!], attrs);
  },
  kernel: { kind: 'named', name: 'max' },
  layout: 'any',
  vjp: {
    // Shared evenly among equal maxima, as PyTorch's amax does.
    x: saving({ x: 'value', out: 'value' }, ({ x, out }, dy, attrs) => {
      const isMax = cast(eq(x, unreduce(out, x, attrs)), 'float32');
      const count = bind1(sumOp, [isMax], { dims: attrs.dims!, keepDim: attrs.keepDim! });
      return mul(unreduce(div(dy, count), x, attrs), isMax);
    }),
  },
});

const argmaxOp = defineOp({
  name: 'argmax',
  operands: { x: 'data' },
  infer: ([x], { dim }) => {
    expectEntries('argmax', x!, [dim as number]);
    return { dtype: 'int32', shape: reducedShape(x!.shape, [dim as number], false) };
  },
  kernel: { kind: 'named', name: 'argmax' },
});

export interface ReduceOptions {
  /** Keeps the reduced dimensions with size 1. */
  readonly keepDim?: boolean;
}

type Dims = number | readonly number[] | undefined;

function reduceAttrs(x: Tensor, dims: Dims, options: ReduceOptions, op: string): Attrs | null {
  const list = dims === undefined ? x.shape.map((_, i) => i) : [dims].flat();
  const normalized = [...new Set(list.map((dim) => normalizeDim(dim, x.rank, op)))];
  // A scalar has nothing to reduce.
  if (x.rank === 0) return null;
  return { dims: normalized.sort((a, b) => a - b), keepDim: options.keepDim ?? false };
}

/** Over all dimensions when `dims` is left out. int32 and bool sum as int32. */
export function sum(x: Tensor, dims?: Dims, options: ReduceOptions = {}): Tensor {
  const attrs = reduceAttrs(x, dims, options, 'sum');
  return casting([x], x.dtype === 'bool' ? 'int32' : x.dtype, ([summed]) =>
    attrs ? bind1(sumOp, [summed!], attrs) : summed!,
  );
}

export function mean(x: Tensor, dims?: Dims, options: ReduceOptions = {}): Tensor {
  if (!dtypes[x.dtype].floating) {
    throw new DTypeError({
      what: 'mean: not a floating-point tensor',
      given: formatSpec(x),
      expected: 'float32',
      remedy: "cast it: x.to('float32').mean()",
    });
  }
  return tidy(() => {
    const total = sum(x, dims, options);
    return div(total, x.size / Math.max(total.size, 1));
  });
}

/** The largest value over all dimensions, or along `dims`. */
export function max(x: Tensor, dims?: Dims, options: ReduceOptions = {}): Tensor {
  const attrs = reduceAttrs(x, dims, options, 'max');
  return attrs ? bind1(maxOp, [x], attrs) : x;
}

/** int32 index of the first maximum along `dim`. */
export function argmax(x: Tensor, dim: number): Tensor {
  const attrs = { dim: normalizeDim(dim, x.rank, 'argmax') };
  // A scalar counts as one entry.
  if (x.rank === 0) return tidy(() => bind1(argmaxOp, [reshape(x, [1])], attrs));
  return bind1(argmaxOp, [x], attrs);
}
