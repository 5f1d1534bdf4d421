/** Splits a tensor into views. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { formatShape, normalizeDim } from '../../spec/shape.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { readNumbers } from '../indexing/data-dependent.ts';
import { expectIndices } from '../indexing/index-operands.ts';
import { narrow, select } from '../movement/movement.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { numbersIn } from '../record/positional.ts';

function parts(x: Tensor, dim: number, sizes: readonly number[]): Tensor[] {
  let start = 0;
  return sizes.map((size) => {
    const part = narrow(x, dim, start, size);
    start += size;
    return part;
  });
}

function expectCount(op: string, what: string, count: number): void {
  if (Number.isInteger(count) && count > 0) return;
  throw new ArgumentError({
    what: `${op}: ${what} is not a positive integer`,
    given: String(count),
    expected: 'an integer from 1 on',
    remedy: `check ${what}`,
  });
}

/** Splits along `dim` into pieces of the size (the last may be smaller), or of the given sizes. */
export function split(x: Tensor, size: number | readonly number[], dim = 0): Tensor[] {
  return naming('split', () => {
    expectTensors('split', x);
    const at = normalizeDim(dim, x.rank, 'split');
    const total = x.shape[at] ?? 1;
    if (typeof size !== 'number') {
      const sizes = numbersIn('split', 'size', size);
      if (sizes.reduce((a, b) => a + b, 0) === total) return parts(x, at, sizes);
      throw new ArgumentError({
        what: "split: the sizes don't add up to the dimension",
        given: `${formatShape(sizes)} for dimension ${at} of ${formatSpec(x)}`,
        expected: `sizes with the sum ${total}`,
        remedy: 'check the sizes and the dimension',
      });
    }
    expectCount('split', 'the size', size);
    const count = Math.max(1, Math.ceil(total / size));
    return parts(
      x,
      at,
      Array.from({ length: count }, (_, i) => Math.min(size, total - i * size)),
    );
  });
}

/** Splits into at most `chunks` pieces of equal size; the last may be smaller. */
export function chunk(x: Tensor, chunks: number, dim = 0): Tensor[] {
  return naming('chunk', () => {
    expectTensors('chunk', x);
    expectCount('chunk', 'the number of chunks', chunks);
    const at = normalizeDim(dim, x.rank, 'chunk');
    const total = x.shape[at] ?? 1;
    if (total === 0) return parts(x, at, new Array<number>(chunks).fill(0));
    return split(x, Math.ceil(total / chunks), at);
  });
}

/** Splits into pieces whose sizes differ by at most one, or at the given indices; a tensor of indices is read. */
export function tensorSplit(
  x: Tensor,
  indices: number | readonly number[] | Tensor,
  dim = 0,
): Tensor[] {
  return naming('tensorSplit', () => {
    expectTensors('tensorSplit', x);
    const pieces = indices instanceof Tensor ? readIndices(indices) : indices;
    const at = normalizeDim(dim, x.rank, 'tensorSplit');
    const total = x.shape[at] ?? 1;
    if (typeof pieces === 'number') {
      expectCount('tensorSplit', 'the number of pieces', pieces);
      const larger = total % pieces;
      const size = Math.floor(total / pieces);
      return parts(
        x,
        at,
        Array.from({ length: pieces }, (_, i) => size + (i < larger ? 1 : 0)),
      );
    }
    const bound = (index: number) =>
      Math.min(total, Math.max(0, index < 0 ? index + total : index));
    const bounds = [0, ...numbersIn('tensorSplit', 'indices', pieces).map(bound), total];
    return bounds
      .slice(1)
      .map((end, i) => narrow(x, at, Math.min(bounds[i]!, end), Math.max(0, end - bounds[i]!)));
  });
}

function readIndices(indices: Tensor): number | readonly number[] {
  expectIndices('tensorSplit', indices);
  const values = [...readNumbers('tensorSplit', indices)];
  return indices.rank === 0 ? values[0]! : values;
}

/** Returns every entry of a dimension, without that dimension. */
export function unbind(x: Tensor, dim = 0): Tensor[] {
  expectTensors('unbind', x);
  const at = normalizeDim(dim, x.rank, 'unbind');
  if (x.rank === 0) {
    throw new ShapeError({
      what: 'unbind: a scalar has no entries',
      given: formatSpec(x),
      expected: 'at least one dimension',
      remedy: 'use the scalar itself',
    });
  }
  return Array.from({ length: x.shape[at] ?? 0 }, (_, i) => select(x, at, i));
}
