/** Power-average pooling: the root of the sum of powers of each window. */

import { abs, mul, sign } from '../ops/arithmetic/arithmetic.ts';
import { avgPool1d, avgPool2d, avgPool3d } from '../ops/convolution/resample.ts';
import { cast } from '../ops/core/cast.ts';
import { relu } from '../ops/pointwise/activations.ts';
import { pow } from '../ops/pointwise/powers.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectNumber } from '../ops/record/positional.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { count, flag, perDimension } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

type Pair = readonly [number, number];
type Triple = readonly [number, number, number];

export interface LPPoolOptions<Size = number> {
  /** The window size by default. */
  readonly stride?: Size;
  /** Whether a last window that extends past the input's end is included. */
  readonly ceilMode?: boolean;
}

export const lpKinds: OptionKinds<LPPoolOptions<number | Pair | Triple>> = {
  stride: perDimension(count(1)),
  ceilMode: flag,
};

const kernelKinds = { kernel: perDimension(count(1)) };

type Averaged<Size> = (x: Tensor, kernel: Size, options: LPPoolOptions<Size>) => Tensor;

/** As in PyTorch, odd powers keep signs, and a partial last window is scaled to a full one. */
function pooled<Size extends number | readonly number[]>(
  name: string,
  dims: number,
  averaged: Averaged<Size>,
  [x, p, kernel, options]: [Tensor, number, Size, LPPoolOptions<Size>],
): Tensor {
  expectTensors(name, x);
  expectNumber(name, 'p', p);
  expectArguments(name, { kernel }, kernelKinds);
  expectOptions(name, options, lpKinds as OptionKinds<LPPoolOptions<Size>>);
  const entries = typeof kernel === 'number' ? kernel ** dims : kernel.reduce((a, b) => a * b, 1);
  return calledAs(name, () => {
    const isHalf = x.dtype === 'float16' || x.dtype === 'bfloat16';
    const means = averaged(pow(isHalf ? cast(x, 'float32') : x, p), kernel, options);
    const roots = pow(mul(mul(sign(means), relu(abs(means))), entries), 1 / p);
    return isHalf ? cast(roots, x.dtype) : roots;
  });
}

/** The p-th root of the sum of p-th powers in each window of [n, c, length]. */
export function lpPool1d(
  x: Tensor,
  p: number,
  kernel: number,
  options: LPPoolOptions = {},
): Tensor {
  return pooled('lpPool1d', 1, avgPool1d, [x, p, kernel, options]);
}

/** The p-th root of the sum of p-th powers in each window of [n, c, h, w]. */
export function lpPool2d(
  x: Tensor,
  p: number,
  kernel: number | Pair,
  options: LPPoolOptions<number | Pair> = {},
): Tensor {
  return pooled<number | Pair>('lpPool2d', 2, avgPool2d, [x, p, kernel, options]);
}

/** The p-th root of the sum of p-th powers in each window of [n, c, d, h, w]. */
export function lpPool3d(
  x: Tensor,
  p: number,
  kernel: number | Triple,
  options: LPPoolOptions<number | Triple> = {},
): Tensor {
  return pooled<number | Triple>('lpPool3d', 3, avgPool3d, [x, p, kernel, options]);
}
