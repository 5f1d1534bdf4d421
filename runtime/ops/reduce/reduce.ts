import * as reductionsKernels from '../../device/cpu/reduce.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { ArgumentError, DTypeError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectNames } from '../../options/expect-options.ts';
import { dtypes } from '../../spec/dtype.ts';
import { normalizeDims, type Shape, sameShape, sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { div } from '../arithmetic/division.ts';
import { bind1 } from '../core/bind.ts';
import { casting, type DTypeOption, inDType } from '../core/cast.ts';
import { copy } from '../core/copy.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectFlag } from '../record/positional.ts';
import { type RowRule, rowsBeforeDims, summedEntries } from '../record/row-cuts.ts';

export function reducedShape(shape: Shape, dims: readonly number[], keepDim: boolean): Shape {
  if (keepDim) return shape.map((dim, i) => (dims.includes(i) ? 1 : dim));
  return shape.filter((_, i) => !dims.includes(i));
}

export function inferReduced([x]: readonly TensorMeta[], { dims, keepDim }: Attrs) {
  return {
    dtype: x!.dtype,
    shape: reducedShape(x!.shape, dims as readonly number[], keepDim as boolean),
  };
}

/** Throws if there are no entries to reduce, because an empty set has no extreme. */
export function expectEntries(name: string, x: TensorMeta, dims: readonly number[]): void {
  if (dims.every((dim) => x.shape[dim] !== 0)) return;
  throw new ShapeError({
    what: `${name}: nothing to choose from`,
    given: `${formatSpec(x)} reduced over dimension ${dims.join(', ')}`,
    expected: 'at least one entry',
    remedy: 'leave empty batches out',
  });
}

/** Returns the meta of a reduced tensor with the reduced dimensions restored. */
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

export const unreduceOp = defineOp({
  name: 'unreduce',
  operands: { x: 'data', like: 'shape' },
  attrs: { dims: 'dims', keepDim: 'boolean' },
  infer: ([x, like]) => ({ dtype: x!.dtype, shape: like!.shape }),
  kernel: { kind: 'view', view: unreducedView },
  vjp: {
    x: saving({}, (_saved, dy, { dims, keepDim }) =>
      bind1(sumOp, [dy], { dims: dims!, keepDim: keepDim! }),
    ),
  },
});

/** Restores the shape before a reduction: repeats `x` along `dims` to the shape of `like`. */
export function unreduce(x: Tensor, like: TensorMeta, { dims, keepDim }: Attrs): Tensor {
  return bind1(unreduceOp, [x, like as Tensor], { dims: dims!, keepDim: keepDim! });
}

/** Whether the first and last dimensions are summed and the others kept, as in sums per channel. */
export function isByChannel(shape: Shape, dims: readonly number[]): boolean {
  const kept = shape.flatMap((_, dim) => (dims.includes(dim) ? [] : [dim]));
  const [first, last] = [kept[0] ?? 0, kept.at(-1) ?? 0];
  const between = kept.length === last - first + 1;
  const several = (sizes: Shape) => sizeOf(sizes) > 1;
  const isKept = several(shape.slice(first, last + 1)) && several(shape.slice(last + 1));
  return first > 0 && between && isKept;
}

const summedByChannel = summedEntries(() => addSumOp);

/** For sums by channel, cuts by entries of the first dimension. */
const summedRows: RowRule = (inputs, outputs, attrs) =>
  isByChannel(inputs[0]!.shape, attrs.dims as readonly number[])
    ? summedByChannel(inputs, outputs, attrs)
    : rowsBeforeDims(inputs, outputs, attrs);

export const sumOp = defineOp({
  name: 'sum',
  operands: { x: 'data' },
  attrs: { dims: 'dims', keepDim: 'boolean' },
  dtypes: { x: 'number' },
  infer: inferReduced,
  kernel: named('sum', reductionsKernels.sum),
  layout: 'any',
  rows: summedRows,
  vjp: { x: saving({ x: 'shape' }, ({ x }, dy, attrs) => unreduce(dy, x, attrs)) },
});

/**
 * In place: a sum over attr `dims` continued from the previous entries of dimension 0. Bitwise identical to one sum if
 * dimension 0 and the last ones are summed and the others are not, as for images by channel. Only the compiler emits
 * it.
 */
export const addSumOp = defineOp({
  name: 'addSum_',
  operands: { out: 'data', x: 'data' },
  attrs: { dims: 'dims' },
  fits: ([out, x], { dims }) =>
    sameShape(out!.shape, reducedShape(x!.shape, dims as readonly number[], false)) ||
    sameShape(out!.shape, reducedShape(x!.shape, dims as readonly number[], true)) ||
    'a sum over these dimensions',
  dtypes: { out: 'float32', x: 'float32' },
  infer: ([out]) => ({ dtype: out!.dtype, shape: out!.shape }),
  kernel: named('addSum', reductionsKernels.addSum),
  inPlace: true,
});

export interface ReduceOptions {
  /** Keeps the reduced dimensions with size 1. */
  readonly keepDim?: boolean;
}

/** One dimension, or several; all if omitted or null. */
export type Dims = number | readonly number[] | null | undefined;

/** Dimensions by keyword, instead of both arguments: `x.sum({ dim: 0, keepDim: true })`. */
export interface DimOptions extends ReduceOptions {
  readonly dim?: Dims;
}

/** Whether the arguments need `positional`: they contain keywords, or unknown option names. */
export function hasKeywords<O extends ReduceOptions>(
  dims: Dims | (O & DimOptions),
  options: O,
  names: readonly string[] = reduceNames,
): dims is O & DimOptions {
  if (isKeywords(dims) || typeof options !== 'object' || options === null) return true;
  for (const name in options) {
    if (Object.hasOwn(options, name) && !names.includes(name)) return true;
  }
  return false;
}

const reduceNames: readonly string[] = ['keepDim'];
export const sumNames: readonly string[] = ['keepDim', 'dtype'];

export interface SumOptions extends ReduceOptions, DTypeOption {}

const isKeywords = <O>(dims: Dims | O): dims is O =>
  typeof dims === 'object' && dims !== null && !Array.isArray(dims) && !isNumber(dims);

/** Normalizes dimensions and options from any form. Throws ArgumentError for unknown option names. */
export function positional<O extends ReduceOptions>(
  op: string,
  dims: Dims | (O & DimOptions),
  options: O | boolean,
  names: readonly string[] = reduceNames,
): [dims: Dims, options: O] {
  const keywords = typeof options === 'boolean' ? { keepDim: options } : options;
  expectNames<object>(op, keywords ?? {}, names as readonly never[]);
  const { dim, ...rest } = isKeywords(dims) ? { ...keywords, ...dims } : { ...keywords, dim: dims };
  const unknown = Object.keys(rest).filter((name) => !names.includes(name));
  if (unknown.length === 0) return [dim, rest as unknown as O];
  throw new ArgumentError({
    what: `${op}: no such option`,
    given: unknown.join(', '),
    expected: ['dim', ...names].join(', '),
    remedy: `write x.${op}(0), x.${op}([0, 1], { keepDim: true }) or x.${op}({ dim: 0, keepDim: true })`,
  });
}

export function reduceAttrs(
  x: Tensor,
  dims: Dims,
  options: ReduceOptions,
  op: string,
): Attrs | null {
  expectTensors(op, x);
  const list = dims === undefined || dims === null ? x.shape.map((_, i) => i) : [dims].flat();
  const normalized = normalizeDims(list, x.rank, op);
  // A scalar has nothing to reduce.
  if (x.rank === 0) return null;
  const { keepDim = false } = options;
  expectFlag(op, 'keepDim', keepDim);
  return { dims: normalized.sort((a, b) => a - b), keepDim };
}

/** Sums over `dims`, by default all dimensions. Integers and booleans sum as int32. */
export function sum(
  x: Tensor,
  dims?: Dims | (SumOptions & DimOptions),
  options: SumOptions | boolean = {},
): Tensor {
  expectTensors('sum', x);
  if (typeof options === 'boolean' || hasKeywords(dims, options, sumNames))
    return sum(x, ...positional('sum', dims, options, sumNames));
  const { dtype, keepDim = false } = options;
  if (dtype) return inDType(x, dtype, (converted) => sum(converted, dims, { keepDim }));
  const total = summed(x, dims, options);
  return total === x ? bind1(copy, [x]) : total;
}

/** The sum; of a scalar, the scalar itself. */
function summed(x: Tensor, dims: Dims, options: ReduceOptions): Tensor {
  const attrs = reduceAttrs(x, dims, options, 'sum');
  return casting([x], dtypes[x.dtype].floating ? x.dtype : 'int32', ([own]) =>
    attrs ? bind1(sumOp, [own!], attrs) : own!,
  );
}

/** The mean over all dimensions, or over the given ones; float32 for integers. */
export function mean(
  x: Tensor,
  dims?: Dims | (SumOptions & DimOptions),
  options: SumOptions | boolean = {},
): Tensor {
  return naming('mean', () => {
    expectTensors('mean', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options, sumNames))
      return mean(x, ...positional('mean', dims, options, sumNames));
    const { dtype, keepDim = false } = options;
    if (dtype) return inDType(x, dtype, (converted) => mean(converted, dims, { keepDim }));
    if (anyHalf(x)) return roundedOnce([x], (converted) => mean(converted, dims, options));
    if (!dtypes[x.dtype].floating) {
      throw new DTypeError({
        what: 'mean: not a floating-point tensor',
        given: formatSpec(x),
        expected: 'float32',
        remedy: "cast it: x.to('float32').mean()",
      });
    }
    return tidy(() => {
      const total = summed(x, dims, options);
      return div(total, x.numel() / Math.max(total.numel(), 1));
    });
  });
}
