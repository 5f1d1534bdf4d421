/** Padding at the ends of dimensions. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { shown } from '../../options/expect-options.ts';
import { formatShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { expand } from '../core/broadcast.ts';
import { cat } from '../movement/joining.ts';
import { clone, narrow } from '../movement/movement.ts';
import { padConstant } from '../movement/place.ts';
import { expectList, expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { flip } from './rearrange.ts';

export type PadMode = 'constant' | 'reflect' | 'replicate' | 'circular';

/** Returns the entries before the first and after the last entry of a dimension of size `size`. */
type Border = (x: Tensor, dim: number, count: number, size: number) => Tensor;

interface Borders {
  readonly before: Border;
  readonly after: Border;
  /** Returns the largest possible border. */
  readonly limit: (size: number) => number;
}

const borders: { readonly [M in Exclude<PadMode, 'constant'>]: Borders } = {
  reflect: {
    before: (x, dim, count) => flip(narrow(x, dim, 1, count), dim),
    after: (x, dim, count, size) => flip(narrow(x, dim, size - 1 - count, count), dim),
    limit: (size) => size - 1,
  },
  replicate: {
    before: (x, dim, count) => repeated(narrow(x, dim, 0, 1), dim, count),
    after: (x, dim, count, size) => repeated(narrow(x, dim, size - 1, 1), dim, count),
    limit: (size) => (size > 0 ? Infinity : 0),
  },
  circular: {
    before: (x, dim, count, size) => narrow(x, dim, size - count, count),
    after: (x, dim, count) => narrow(x, dim, 0, count),
    limit: (size) => size,
  },
};

function repeated(x: Tensor, dim: number, count: number): Tensor {
  return expand(
    x,
    x.shape.map((size, d) => (d === dim ? count : size)),
  );
}

function refuse(x: Tensor, amounts: readonly number[], expected: string): never {
  throw new ArgumentError({
    what: "pad: the amounts don't fit the tensor",
    given: `${formatShape(amounts)} for ${formatSpec(x)}`,
    expected,
    remedy: 'list pairs from the last dimension on: [left, right, top, bottom, …]',
  });
}

/**
 * Pads the last dimensions: `amounts` has (before, after) for the last dimension, then for the one before it, and
 * so on, as in PyTorch. Negative amounts crop. `reflect` mirrors at the outermost entries, `replicate` repeats
 * them, `circular` continues at the other end.
 */
export function pad(
  x: Tensor,
  amounts: readonly number[],
  mode: PadMode = 'constant',
  value = 0,
): Tensor {
  expectTensors('pad', x);
  expectNumber('pad', 'value', value);
  expectList('pad', 'amounts', amounts);
  if (mode !== 'constant' && !Object.hasOwn(borders, mode)) {
    throw new ArgumentError({
      what: 'pad: not a mode',
      given: shown(mode),
      expected: ['constant', ...Object.keys(borders)].join(', '),
      remedy: 'pass one of these',
    });
  }
  const paired = amounts.length % 2 === 0 && amounts.length / 2 <= x.rank;
  if (!paired || !amounts.every(Number.isInteger)) {
    refuse(x, amounts, `pairs of integers, at most one for each of ${x.rank} dimensions`);
  }
  const before = x.shape.map((_, d) => amounts[2 * (x.rank - 1 - d)] ?? 0);
  const after = x.shape.map((_, d) => amounts[2 * (x.rank - 1 - d) + 1] ?? 0);
  return tidy(() => {
    if (mode === 'constant') return constant(x, amounts, before, after, value);
    // Circular padding follows cropping; mirrored or repeated padding precedes it.
    const added = (list: readonly number[]) =>
      mode === 'circular' ? list.map((count) => Math.max(0, count)) : list;
    const [first, last] = [added(before), added(after)];
    const padded = x.shape.reduce(
      (result, _, dim) => bordered(result, dim, [first[dim]!, last[dim]!], borders[mode]),
      mode === 'circular' ? cropped(x, amounts, before, after) : x,
    );
    // Without added entries nothing is concatenated, and the result is a view.
    const isView = [...before, ...after].every((count) => count <= 0);
    return isView ? clone(padded) : padded;
  });
}

function constant(
  x: Tensor,
  amounts: readonly number[],
  before: readonly number[],
  after: readonly number[],
  value: number,
): Tensor {
  const kept = cropped(x, amounts, before, after);
  const added = (list: readonly number[]) => list.map((count) => Math.max(0, count));
  return padConstant(kept, added(before), added(after), value);
}

/** Crops by negative amounts. */
function cropped(
  x: Tensor,
  amounts: readonly number[],
  before: readonly number[],
  after: readonly number[],
): Tensor {
  if (x.shape.some((size, d) => size + Math.min(0, before[d]!) + Math.min(0, after[d]!) < 0)) {
    refuse(x, amounts, 'to cut off at most what is there');
  }
  return x.shape.reduce((result, size, dim) => {
    const [start, end] = [Math.min(0, before[dim]!), Math.min(0, after[dim]!)];
    return start === 0 && end === 0 ? result : narrow(result, dim, -start, size + start + end);
  }, x);
}

function bordered(
  x: Tensor,
  dim: number,
  [before, after]: readonly [number, number],
  { before: first, after: last, limit }: Borders,
): Tensor {
  if (before === 0 && after === 0) return x;
  const size = x.shape[dim]!;
  const most = limit(size);
  if (Math.max(before, after) > most || Math.min(before, 0) + Math.min(after, 0) < -size) {
    refuse(x, [before, after], `at most ${most} entries around dimension ${dim}, of size ${size}`);
  }
  const parts = [x];
  if (before > 0) parts.unshift(first(x, dim, before, size));
  if (after > 0) parts.push(last(x, dim, after, size));
  const padded = parts.length > 1 ? cat(parts, dim) : x;
  return cut(padded, dim, Math.max(0, -before), Math.max(0, -after));
}

/** Removes entries at both ends. */
function cut(x: Tensor, dim: number, start: number, end: number): Tensor {
  return start + end === 0 ? x : narrow(x, dim, start, Math.max(0, x.shape[dim]! - start - end));
}
