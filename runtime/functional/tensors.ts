/** Tensors composed of other tensors. */

import { deviceGuard } from '../device/current.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { pad } from '../ops/arranging/padding.ts';
import { tensor } from '../ops/core/create.ts';
import type { CreateOptions } from '../ops/core/creation-options.ts';
import { indexSelect } from '../ops/indexing/indexing.ts';
import { norm } from '../ops/linalg/norm.ts';
import { atleast2d } from '../ops/movement/at-least.ts';
import { cat, stack } from '../ops/movement/joining.ts';
import { reshape } from '../ops/movement/movement.ts';
import { linspace } from '../ops/movement/ranges.ts';
import { diag, meshgrid } from '../ops/movement/views.ts';
import { pow, sub } from '../ops/pointwise/pointwise.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectFlag, expectNumber } from '../ops/record/positional.ts';
import { expectArguments } from '../options/expect-options.ts';
import { anObject } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

/** Returns a matrix with the elements of `x` on a diagonal. */
export function diagflat(x: Tensor, offset = 0): Tensor {
  expectTensors('diagflat', x);
  return calledAs('diagflat', () => diag(reshape(x, [-1]), offset));
}

/** Returns a block-diagonal matrix of the given matrices, 0 elsewhere; a vector counts as a row. */
export function blockDiag(...matrices: readonly Tensor[]): Tensor {
  expectTensors('blockDiag', ...matrices);
  return calledAs('blockDiag', () => {
    const blocks = matrices.map((matrix) => atleast2d(matrix));
    const sizes = blocks.map(({ shape }) => shape[1]!);
    const width = sizes.reduce((a, b) => a + b, 0);
    let start = 0;
    const rows = blocks.map((block, i) => {
      const before = start;
      start += sizes[i]!;
      return pad(block, [before, width - start]);
    });
    return cat(rows, 0);
  });
}

/**
 * Returns the Cartesian product of vectors: [product of lengths, number of vectors]; a single vector is returned
 * unchanged.
 */
export function cartesianProd(...vectors: readonly Tensor[]): Tensor {
  expectTensors('cartesianProd', ...vectors);
  if (vectors.length === 1) return vectors[0]!;
  return calledAs('cartesianProd', () =>
    stack(
      meshgrid([...vectors], 'ij').map((each) => reshape(each, [-1])),
      1,
    ),
  );
}

/**
 * Returns all combinations of `r` elements of a vector, in order: [combinations, r]; [0] if there are none, as in
 * PyTorch.
 */
export function combinations(x: Tensor, r = 2, withReplacement = false): Tensor {
  expectTensors('combinations', x);
  expectNumber('combinations', 'r', r);
  expectFlag('combinations', 'withReplacement', withReplacement);
  if (x.rank !== 1 || !Number.isInteger(r) || r < 0) {
    throw new ArgumentError({
      what: 'combinations: not choices of elements of a vector',
      given: `${r} of ${formatSpec(x)}`,
      expected: 'an integer from 0 on, and a tensor with one dimension',
      remedy: 'flatten the tensor first: x.flatten()',
    });
  }
  const chosen = choices(x.shape[0]!, r, withReplacement);
  return calledAs('combinations', () => {
    const elements = indexSelect(x, 0, placesOn(x, chosen.flat()));
    return r === 0 ? elements : reshape(elements, [chosen.length, r]);
  });
}

/** Returns the p-norm distances between all pairs of rows of [n, k], in order: [n · (n − 1) / 2]. */
export function pdist(x: Tensor, p = 2): Tensor {
  expectTensors('pdist', x);
  expectNumber('pdist', 'p', p);
  if (x.rank !== 2) {
    throw new ShapeError({
      what: 'pdist: not rows',
      given: formatSpec(x),
      expected: '[n, k]',
      remedy: 'use cdist(x, x) for batches of rows',
    });
  }
  const pairs = choices(x.shape[0]!, 2, false);
  const side = (at: 0 | 1) =>
    indexSelect(
      x,
      0,
      placesOn(
        x,
        pairs.map((pair) => pair[at]!),
      ),
    );
  return calledAs('pdist', () => norm(sub(side(0), side(1)), p, 1));
}

/** Returns `steps` numbers from `base` ** `start` to `base` ** `end`, evenly spaced on a logarithmic scale. */
export function logspace(
  start: number,
  end: number,
  steps: number,
  options: CreateOptions & { readonly base?: number } = {},
): Tensor {
  expectArguments('logspace', { options }, { options: anObject });
  const { base = 10, ...others } = options;
  return calledAs('logspace', () => pow(base, linspace(start, end, steps, others)));
}

const placesOn = (x: Tensor, places: readonly number[]): Tensor =>
  deviceGuard(x.device, () => tensor(Int32Array.from(places)));

function choices(n: number, r: number, withReplacement: boolean): number[][] {
  if (r === 0) return [[]];
  return choices(n, r - 1, withReplacement).flatMap((before) => {
    const from = before.length === 0 ? 0 : before.at(-1)! + (withReplacement ? 0 : 1);
    return Array.from({ length: Math.max(0, n - from) }, (_, i) => [...before, from + i]);
  });
}
