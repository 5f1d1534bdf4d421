/** Products of vectors and of chains of matrices. */

import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { mul } from '../ops/arithmetic/arithmetic.ts';
import { cast } from '../ops/core/cast.ts';
import { squeeze, unsqueeze } from '../ops/movement/movement.ts';
import { matmul } from '../ops/products/matmul.ts';
import { expectTensorList, expectTensors } from '../ops/record/expect-tensors.ts';
import { expectNumber } from '../ops/record/positional.ts';
import { sum } from '../ops/reduce/reduce.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

/** Calls `body` with tensors of one dtype in half precision in float32, and rounds its result. */
function roundedOnce(
  tensors: readonly Tensor[],
  body: (wide: readonly Tensor[]) => Tensor,
): Tensor {
  const { dtype } = tensors[0]!;
  const isHalf = dtype === 'float16' || dtype === 'bfloat16';
  if (!isHalf || tensors.some((each) => each.dtype !== dtype)) return body(tensors);
  return cast(body(tensors.map((each) => cast(each, 'float32'))), dtype);
}

/** Returns the scalar products of vectors along `dim`; both operands broadcast. */
export function vecdot(x: Tensor, y: Tensor, dim = -1): Tensor {
  expectTensors('vecdot', x, y);
  expectNumber('vecdot', 'dim', dim);
  return calledAs('vecdot', () => roundedOnce([x, y], ([a, b]) => sum(mul(a!, b!), dim)));
}

/**
 * Returns the product of two or more matrices, in the order of fewest multiplications; the first one may be a row, the last
 * one a column: vectors, whose dimension the result lacks.
 */
export function multiDot(tensors: readonly Tensor[]): Tensor {
  expectTensorList('multiDot', tensors);
  expectChain(tensors);
  return calledAs('multiDot', () => {
    const last = tensors.length - 1;
    const isRow = tensors[0]!.rank === 1;
    const isColumn = tensors[last]!.rank === 1;
    const matrices = tensors.map((each, i) =>
      each.rank === 2 ? each : unsqueeze(each, i === 0 ? 0 : 1),
    );
    const splits = bestSplits([matrices[0]!.shape[0]!, ...matrices.map(({ shape }) => shape[1]!)]);
    const result = roundedOnce(matrices, (wide) => {
      const product = (from: number, to: number): Tensor => {
        if (from === to) return wide[from]!;
        const at = splits[from]![to]!;
        return matmul(product(from, at), product(at + 1, to));
      };
      return product(0, last);
    });
    const columns = isColumn ? squeeze(result, 1) : result;
    return isRow ? squeeze(columns, 0) : columns;
  });
}

/** Returns, for the matrices i to j of sizes [sizes[i], sizes[i + 1]], the last one of the left product. */
function bestSplits(sizes: readonly number[]): number[][] {
  const count = sizes.length - 1;
  const table = (): number[][] =>
    Array.from({ length: count }, () => new Array<number>(count).fill(0));
  const [costs, splits] = [table(), table()];
  for (let length = 1; length < count; length++) {
    for (let i = 0; i + length < count; i++) {
      const j = i + length;
      costs[i]![j] = Infinity;
      for (let at = i; at < j; at++) {
        const cost =
          costs[i]![at]! + costs[at + 1]![j]! + sizes[i]! * sizes[at + 1]! * sizes[j + 1]!;
        if (cost >= costs[i]![j]!) continue;
        costs[i]![j] = cost;
        splits[i]![j] = at;
      }
    }
  }
  return splits;
}

function expectChain(tensors: readonly Tensor[]): void {
  const last = tensors.length - 1;
  const fits = tensors.every(({ rank, shape }, i) => {
    const isMatrix = rank === 2 || (rank === 1 && (i === 0 || i === last));
    return isMatrix && (i === 0 || tensors[i - 1]!.shape.at(-1) === shape[0]);
  });
  if (last > 0 && fits) return;
  throw new ShapeError({
    what: "multiDot: the matrices don't fit",
    given: tensors.map(formatSpec).join(', '),
    expected: 'two or more matrices [a, b], [b, c], …; vectors only at both ends',
    remedy: 'matmul() multiplies batches of matrices',
  });
}
