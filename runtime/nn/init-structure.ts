/** Initializers for structured weights, by PyTorch's names: they overwrite a tensor in place and return it. */

import { noGrad } from '../autograd/grad-mode.ts';
import { deviceGuard } from '../device/current.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { argumentsOf } from '../functional/arguments-of.ts';
import { tensor as fromArray } from '../ops/core/create.ts';
import { copy_ } from '../ops/in-place/in-place.ts';
import { eye } from '../ops/movement/ranges.ts';
import { lt, maskedFill, mul } from '../ops/pointwise/pointwise.ts';
import { randn } from '../ops/random/drawn.ts';
import { randnLike } from '../ops/random/random.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { argsort } from '../ops/reduce/order.ts';
import { anyInteger, anyNumber } from '../options/option-kinds.ts';
import { newTypedArray } from '../spec/dtype.ts';
import { sizeOf } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';

function expectRank(
  use: string,
  target: Tensor,
  fits: (target: Tensor) => boolean,
  expected: string,
): void {
  expectTensors(use, target);
  if (fits(target)) return;
  throw new ShapeError({
    what: `${use}: not for a tensor of this shape`,
    given: formatSpec(target),
    expected,
    remedy: 'use normal_ or uniform_ for other tensors',
  });
}

/** Writes the identity matrix: 1 on the diagonal, 0 elsewhere. */
export function eye_(target: Tensor): Tensor {
  expectRank('eye_', target, ({ rank }) => rank === 2, 'a matrix');
  const [rows, columns] = target.shape as [number, number];
  noGrad(() =>
    tidy(
      () =>
        void copy_(
          target,
          deviceGuard(target.device, () => eye(rows, columns)),
        ),
    ),
  );
  return target;
}

/**
 * Fills a convolution weight [out, in / groups, …] so that the layer passes as many input channels as possible through
 * unchanged.
 */
export function dirac_(
  target: Tensor,
  groupsOrOptions: number | { readonly groups?: number } = 1,
): Tensor {
  const { groups = 1 } = argumentsOf('dirac_', { groups: anyInteger }, groupsOrOptions);
  const fits = ({ rank, shape }: Tensor) => rank >= 3 && rank <= 5 && shape[0]! % groups === 0;
  expectRank('dirac_', target, fits, '[out, in, …kernel], out divisible by the groups');
  const { shape } = target;
  const [out, channels] = shape as [number, number];
  const field = sizeOf(shape.slice(2));
  // The center of the kernel; rounded up if its size is even.
  const middle = shape.slice(2).reduce((at, size) => at * size + Math.floor(size / 2), 0);
  const values = newTypedArray('float32', target.numel());
  const perGroup = out / groups;
  for (let row = 0; row < out; row++) {
    const channel = row % perGroup;
    if (channel < channels) values[(row * channels + channel) * field + middle] = 1;
  }
  return written(target, values);
}

/**
 * Orthogonal initialization (Saxe et al.): the rows of [rows, …], or the columns if there are fewer, become orthogonal
 * vectors of length `gain`. Draws normal numbers and applies Gram-Schmidt twice, in JavaScript.
 */
export function orthogonal_(
  target: Tensor,
  gainOrOptions: number | { readonly gain?: number } = 1,
): Tensor {
  const { gain = 1 } = argumentsOf('orthogonal_', { gain: anyNumber }, gainOrOptions);
  expectRank('orthogonal_', target, ({ rank }) => rank >= 2, 'two dimensions or more');
  const rows = target.shape[0]!;
  const columns = target.numel() / Math.max(rows, 1);
  const drawn = deviceGuard('cpu', () => randn([rows, columns]));
  const values = Float64Array.from(drawn.dataSync());
  drawn.dispose();
  if (rows <= columns) orthonormalize(values, rows, columns, columns, 1);
  else orthonormalize(values, columns, rows, 1, columns);
  return written(
    target,
    Float32Array.from(values, (value) => gain * value),
  );
}

/** Orthonormalizes `count` vectors of `length` elements; vector i starts at i · `from`, with stride `by`. */
function orthonormalize(
  values: Float64Array,
  count: number,
  length: number,
  from: number,
  by: number,
): void {
  const dot = (i: number, j: number) => {
    let sum = 0;
    for (let k = 0; k < length; k++) sum += values[i * from + k * by]! * values[j * from + k * by]!;
    return sum;
  };
  for (let i = 0; i < count; i++) {
    // The first pass leaves rounding errors, which the second removes.
    for (let pass = 0; pass < 2; pass++) {
      for (let j = 0; j < i; j++) {
        const share = dot(i, j);
        for (let k = 0; k < length; k++)
          values[i * from + k * by]! -= share * values[j * from + k * by]!;
      }
    }
    const scale = 1 / Math.sqrt(dot(i, i));
    for (let k = 0; k < length; k++) values[i * from + k * by]! *= scale;
  }
}

/** The fraction of each column that is 0, and the standard deviation of the others. */
interface Sparse {
  readonly sparsity: number;
  readonly std?: number;
}

const sparseKinds = { sparsity: anyNumber, std: anyNumber };

/** Sparse initialization (Martens): normal numbers, with a fraction `sparsity` of each column of a matrix set to 0. */
export function sparse_(
  target: Tensor,
  sparsityOrOptions: number | Sparse,
  deviation?: number,
): Tensor {
  const { sparsity, std = 0.01 } = argumentsOf(
    'sparse_',
    sparseKinds,
    sparsityOrOptions,
    deviation,
  );
  expectRank('sparse_', target, ({ rank }) => rank === 2, 'a matrix');
  if (!(sparsity >= 0 && sparsity <= 1)) {
    throw new ArgumentError({
      what: 'sparse_: sparsity out of range',
      given: `sparsity = ${sparsity}`,
      expected: 'a number from 0 to 1',
      remedy: 'pass the fraction of each column to zero',
    });
  }
  const empty = Math.ceil(sparsity * target.shape[0]!);
  noGrad(() =>
    tidy(() => {
      // The rank of each element in a random order of its column: the lowest ranks become 0.
      const places = argsort(randnLike(target), 0);
      copy_(target, maskedFill(mul(randnLike(target), std), lt(places, empty), 0));
    }),
  );
  return target;
}

function written(target: Tensor, values: Float32Array): Tensor {
  const { shape } = target;
  noGrad(() =>
    tidy(
      () =>
        void copy_(
          target,
          deviceGuard(target.device, () => fromArray(values, { shape })),
        ),
    ),
  );
  return target;
}
