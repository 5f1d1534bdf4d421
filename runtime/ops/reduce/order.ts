/** Sorting. */

import * as ordersKernels from '../../device/cpu/order.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions, givenBothWays, type OptionKinds } from '../../options/expect-options.ts';
import { flag, judgedLater } from '../../options/option-kinds.ts';
import type { DType } from '../../spec/dtype.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind } from '../core/bind.ts';
import { gatherFrom } from '../indexing/gather.ts';
import { reshape, select, unsqueeze } from '../movement/movement.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp, expectTensor, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectFlag, expectNumber } from '../record/positional.ts';

function inferSorted([x]: readonly TensorMeta[], { dim, count }: Attrs) {
  const shape = x!.shape.map((size, d) => (d === dim ? (count as number) : size));
  return [
    { dtype: x!.dtype, shape },
    { dtype: 'int32' as const, shape },
  ];
}

/** Defines an op that returns the first `count` values and their indices along `dim`. */
function sorting(name: string): OpRecord {
  return defineOp({
    name,
    operands: { x: 'data' },
    attrs: { dim: 'dim', count: 'size', descending: 'boolean' },
    fits: ([x], { dim, count }) =>
      (count as number) <= x!.shape[dim as number]! || 'at most as many as there are',
    infer: inferSorted,
    kernel: named('sort', ordersKernels.sort, ordersKernels.sortScratch),
    vjp: {
      x: saving({ x: 'shape', out1: 'value' }, ({ x, out1 }, dy, { dim }) =>
        gatherFrom(dy, out1, x, dim as number),
      ),
    },
  });
}

export const sortOp = sorting('sort');
export const topkOp = sorting('topk');

/** Values of a dimension, and their original indices. */
// biome-ignore lint/suspicious/noExplicitAny: an unknown dtype, as of `Tensor`.
export type ValuesAndIndices<D extends DType = any> = [values: Tensor<D>, indices: Tensor<'int32'>];

function ordered<D extends DType>(
  op: OpRecord,
  x: Tensor<D>,
  dim: number,
  descending: boolean,
  count: number | null,
): ValuesAndIndices<D> {
  expectTensor(op, x);
  const at = normalizeDim(dim, x.rank, op.name);
  if (count !== null) expectNumber(op.name, 'k', count);
  const size = x.shape[at] ?? 1;
  if (count !== null && !(Number.isInteger(count) && count >= 0 && count <= size)) {
    throw new ArgumentError({
      what: `${op.name}: more values than there are`,
      given: `k ${count} in dimension ${at} of ${formatSpec(x)}`,
      expected: `an integer from 0 to ${size}`,
      remedy: 'check k and the dimension',
    });
  }
  expectFlag(op.name, op === topkOp ? 'largest' : 'descending', descending);
  const attrs = { dim: at, descending, count: count ?? size };
  return tidy(() => {
    if (x.rank > 0) return bind(op, [x], attrs) as ValuesAndIndices<D>;
    const found = bind(op, [reshape(x, [1])], attrs);
    return found.map((each) => reshape(each, [])) as ValuesAndIndices<D>;
  });
}

/** Sorts the values along a dimension; also returns their original indices. Stable; NaN counts as the largest. */
export function sort<D extends DType>(
  x: Tensor<D>,
  dim: number | SortOptions = -1,
  descending: boolean | SortOptions = false,
): ValuesAndIndices<D> {
  return ordered(sortOp, x, ...sortedBy('sort', dim, descending), null);
}

/** PyTorch's keywords for `sort` and `argsort`, which are always stable. */
export interface SortOptions {
  /** -1 by default. */
  readonly dim?: number;
  /** False by default. */
  readonly descending?: boolean;
  readonly stable?: boolean;
}

const sortOptions = { dim: judgedLater, descending: flag, stable: flag };
const topkOptions = { dim: judgedLater, largest: flag, sorted: flag };

function sortedBy(
  op: string,
  dim: number | SortOptions,
  descending: boolean | SortOptions,
): [dim: number, descending: boolean] {
  const options = keywords(op, dim, descending, false, sortOptions);
  if (!options) return [dim as number, descending as boolean];
  return [options.dim ?? -1, options.descending ?? false];
}

/** Returns the keyword object among the arguments, combined with positional ones; null if all are positional. */
function keywords<O extends { readonly dim?: number }>(
  op: string,
  dim: number | O,
  flag: boolean | O,
  otherwise: boolean,
  kinds: OptionKinds<O>,
): O | null {
  const options = [dim, flag].find((each) => typeof each === 'object' && !isNumber(each));
  if (options === undefined) return null;
  expectOptions(op, options as O, kinds);
  if (dim !== options) return { dim: dim as number, ...(flag as O) };
  if (flag !== otherwise) throw givenBothWays(op, flag, Object.keys(kinds));
  return dim as O;
}

/** Returns the indices that sort a dimension. */
export function argsort(
  x: Tensor,
  dim: number | SortOptions = -1,
  descending: boolean | SortOptions = false,
): Tensor<'int32'> {
  return naming('argsort', () => {
    expectTensors('argsort', x);
    return tidy(() => sort(x, ...sortedBy('argsort', dim, descending))[1]);
  });
}

/** Sorts along the first dimension. */
export function msort(x: Tensor): Tensor {
  expectTensors('msort', x);
  return tidy(() => sort(x, 0)[0]);
}

/** Returns the `k` largest (or smallest) values along a dimension, sorted, and their indices. */
export function topk<D extends DType>(
  x: Tensor<D>,
  k: number,
  dim: number | TopkOptions = -1,
  largest: boolean | TopkOptions = true,
): ValuesAndIndices<D> {
  const options = keywords('topk', dim, largest, true, topkOptions);
  if (!options) return ordered(topkOp, x, dim as number, largest as boolean, k);
  return ordered(topkOp, x, options.dim ?? -1, options.largest ?? true, k);
}

/** PyTorch's keywords for `topk`, whose results are always sorted. */
export interface TopkOptions {
  /** -1 by default. */
  readonly dim?: number;
  /** True by default. */
  readonly largest?: boolean;
  readonly sorted?: boolean;
}

/** Returns the k-th smallest value along a dimension, counted from 1, and its index. */
export function kthvalue<D extends DType>(
  x: Tensor<D>,
  k: number,
  dim = -1,
  keepDim = false,
): ValuesAndIndices<D> {
  expectTensors('kthvalue', x);
  expectFlag('kthvalue', 'keepDim', keepDim);
  const at = normalizeDim(dim, x.rank, 'kthvalue');
  return tidy(() => {
    const smallest = naming('kthvalue', () => ordered(topkOp, x, at, false, k));
    if (x.rank === 0) return smallest;
    const chosen = smallest.map((each) => {
      const last = select(each, at, k - 1);
      return keepDim ? unsqueeze(last, at) : last;
    });
    return chosen as ValuesAndIndices<D>;
  });
}
