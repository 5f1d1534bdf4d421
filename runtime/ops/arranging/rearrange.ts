/** Copies with elements reordered, repeated or selected. */

import * as rearrangeKernels from '../../device/cpu/movement/rearrange.ts';
import { deviceGuard } from '../../device/current.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { formatShape, normalizeDim, normalizeDims, type Shape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { expand } from '../core/broadcast.ts';
import { tensor } from '../core/create.ts';
import { readNumbers } from '../indexing/data-dependent.ts';
import { indexSelect } from '../indexing/indexing.ts';
import { clone, reshape, transpose } from '../movement/movement.ts';
import { isInteger, negated } from '../numbers/number-arithmetic.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectList, expectOperand, expectTensors } from '../record/expect-tensors.ts';
import { expectWhole } from '../record/positional.ts';

export const flipOp: OpRecord = defineOp({
  name: 'flip',
  operands: { x: 'data' },
  attrs: { dims: 'dims' },
  infer: ([x]) => ({ dtype: x!.dtype, shape: x!.shape }),
  kernel: named('flip', rearrangeKernels.flip),
  layout: 'any',
  vjp: { x: saving({}, (_saved, dy, { dims }) => bind1(flipOp, [dy], { dims: dims! })) },
});

/** Reverses the entries of each of the dimensions. */
export function flip(x: Tensor, dims: number | readonly number[]): Tensor {
  expectTensors('flip', x);
  const list = normalizeDims([dims].flat() as number[], x.rank, 'flip');
  return bind1(flipOp, [x], { dims: x.rank === 0 ? [] : list });
}

/** Reverses dimension 1. */
export const fliplr = (x: Tensor): Tensor => {
  expectTensors('fliplr', x);
  return naming('fliplr', () => flip(x, 1));
};
/** Reverses dimension 0. */
export const flipud = (x: Tensor): Tensor => {
  expectTensors('flipud', x);
  return flip(x, 0);
};

export const rollOp: OpRecord = defineOp({
  name: 'roll',
  operands: { x: 'data' },
  infer: ([x]) => ({ dtype: x!.dtype, shape: x!.shape }),
  kernel: named('roll', rearrangeKernels.roll),
  numbers: ['shift'],
  layout: 'any',
  vjp: {
    x: saving({}, (_saved, dy, { dim, shift }) =>
      bind1(rollOp, [dy], { dim: dim!, shift: negated(shift as number) }),
    ),
  },
});

/** Shifts entries by `shifts`, wrapping around. Without `dims`, shifts the flattened tensor. */
export function roll(
  x: Tensor,
  shifts: number | readonly number[],
  dims?: number | readonly number[],
): Tensor {
  expectTensors('roll', x);
  const by = [shifts].flat() as number[];
  return tidy(() => {
    if (dims === undefined) return reshape(roll(reshape(x, [x.numel()]), by[0]!, 0), x.shape);
    const along = ([dims].flat() as number[]).map((dim) => normalizeDim(dim, x.rank, 'roll'));
    if (along.length !== by.length || !by.every(isInteger)) {
      throw new ArgumentError({
        what: 'roll: not one shift per dimension',
        given: `shifts ${formatShape(by)} for dimensions ${formatShape(along)}`,
        expected: 'as many integers as dimensions',
        remedy: 'pass one shift for each dimension',
      });
    }
    if (x.rank === 0 || along.length === 0) return clone(x);
    return along.reduce((result, dim, i) => bind1(rollOp, [result], { dim, shift: by[i]! }), x);
  });
}

/** Rotates by 90° in the plane of two dimensions, `k` times, from the first toward the second. */
export function rot90(x: Tensor, k = 1, dims: readonly [number, number] = [0, 1]): Tensor {
  return naming('rot90', () => {
    expectTensors('rot90', x);
    expectWhole('rot90', 'k', k);
    expectList('rot90', 'dimensions', dims);
    const [a, b] = dims.map((dim) => normalizeDim(dim, x.rank, 'rot90')) as [number, number];
    if (dims.length !== 2 || a === b) {
      throw new ArgumentError({
        what: 'rot90: not a plane',
        given: `dimensions ${formatShape(dims)}`,
        expected: 'two different dimensions',
        remedy: 'rotate in the last two: x.rot90(1, [-2, -1])',
      });
    }
    const turns = ((k % 4) + 4) % 4;
    return tidy(() => {
      if (turns === 0) return clone(x);
      if (turns === 2) return flip(x, [a, b]);
      return clone(turns === 1 ? transpose(flip(x, b), a, b) : flip(transpose(x, a, b), b));
    });
  });
}

function expectCounts(op: string, counts: readonly number[]): void {
  expectList(op, 'counts', counts);
  if (counts.every((count) => Number.isInteger(count) && count >= 0)) return;
  throw new ArgumentError({
    what: `${op}: not numbers of repetitions`,
    given: formatShape(counts),
    expected: 'integers from 0 on',
    remedy: 'pass how often to repeat each dimension',
  });
}

/** Repeats the whole tensor along each dimension; extra counts add dimensions. */
export function repeat(x: Tensor, counts: readonly number[]): Tensor {
  expectTensors('repeat', x);
  expectCounts('repeat', counts);
  if (counts.length < x.rank) {
    throw new ArgumentError({
      what: 'repeat: fewer counts than dimensions',
      given: `${formatShape(counts)} for ${formatSpec(x)}`,
      expected: `at least ${x.rank} counts`,
      remedy: 'use tile(), which takes missing ones as 1, or add counts of 1 in front',
    });
  }
  const padded = [...new Array<number>(counts.length - x.rank).fill(1), ...x.shape];
  const pairs = padded.flatMap((size) => [1, size]);
  const wide = padded.flatMap((size, d) => [counts[d]!, size]);
  const shape = padded.map((size, d) => size * counts[d]!);
  return tidy(() => reshape(clone(expand(reshape(x, pairs), wide)), shape));
}

/** Like `repeat`, with missing leading counts as 1. */
export function tile(x: Tensor, counts: readonly number[]): Tensor {
  expectTensors('tile', x);
  expectCounts('tile', counts);
  const missing = Math.max(0, x.rank - counts.length);
  return repeat(x, [...new Array<number>(missing).fill(1), ...counts]);
}

/**
 * Repeats each entry of a dimension `repeats` times, or by its own count (a tensor of counts is read). Without `dim`,
 * repeats the entries of the flattened tensor.
 */
export function repeatInterleave(x: Tensor, repeats: number | Tensor, dim?: number): Tensor {
  expectTensors('repeatInterleave', x);
  expectOperand('repeatInterleave', repeats);
  if (repeats instanceof Tensor) return repeatedByCounts(x, repeats, dim);
  expectCounts('repeatInterleave', [repeats]);
  return tidy(() => {
    const { source, at } = entriesOf(x, dim);
    const { shape } = source;
    const insert = (count: number): Shape => [
      ...shape.slice(0, at + 1),
      count,
      ...shape.slice(at + 1),
    ];
    const repeated = clone(expand(reshape(source, insert(1)), insert(repeats)));
    return reshape(
      repeated,
      shape.map((size, d) => (d === at ? size * repeats : size)),
    );
  });
}

/** Returns the tensor whose entries `repeatInterleave` repeats, and their dimension. */
export function entriesOf(x: Tensor, dim: number | undefined) {
  const source = dim === undefined || x.rank === 0 ? reshape(x, [x.numel()]) : x;
  const at = dim === undefined ? 0 : normalizeDim(dim, source.rank, 'repeatInterleave');
  return { source, at };
}

/** Requires one count, or one per entry of the dimension. */
export function expectCountPerEntry(counts: number, source: Tensor, at: number): void {
  const size = source.shape[at]!;
  if (counts === 1 || counts === size) return;
  throw new ArgumentError({
    what: 'repeatInterleave: not one count per entry',
    given: `${counts} counts for ${size} entries of ${formatSpec(source)}`,
    expected: 'one count, or one per entry of the dimension',
    remedy: 'check the dimension',
  });
}

function repeatedByCounts(x: Tensor, repeats: Tensor, dim: number | undefined): Tensor {
  const numbers = [...readNumbers('repeatInterleave', repeats)];
  expectCounts('repeatInterleave', numbers);
  return tidy(() => {
    const { source, at } = entriesOf(x, dim);
    expectCountPerEntry(numbers.length, source, at);
    const size = source.shape[at]!;
    const counts = numbers.length === 1 ? new Array<number>(size).fill(numbers[0]!) : numbers;
    const places = new Int32Array(counts.reduce((sum, count) => sum + count, 0));
    let end = 0;
    for (const [i, count] of counts.entries()) {
      places.fill(i, end, end + count);
      end += count;
    }
    return indexSelect(
      source,
      at,
      deviceGuard(x.device, () => tensor(places)),
    );
  });
}
