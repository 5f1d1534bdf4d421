/** Windows of signals, by PyTorch's names: weights that taper to both ends. */

import { ArgumentError, DTypeError } from '../errors/errors.ts';
import type { CreateOptions } from '../ops/core/creation-options.ts';
import { ones } from '../ops/movement/create.ts';
import { arange } from '../ops/movement/ranges.ts';
import { abs, add, cos, mul, rsub, sub } from '../ops/pointwise/pointwise.ts';
import { expectFlag, expectNumber } from '../ops/record/positional.ts';
import { expectArguments } from '../options/expect-options.ts';
import { anObject } from '../options/option-kinds.ts';
import { type DType, dtypes } from '../spec/dtype.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

export interface WindowOptions {
  /** float32 by default; a floating-point dtype. */
  readonly dtype?: DType;
  readonly device?: CreateOptions['device'];
}

/** Computes a window from the positions of its elements, from 0 to 1. Options may stand in the place of `periodic`. */
function windowOf(
  name: string,
  length: number,
  given: boolean | WindowOptions,
  last: WindowOptions,
  factors: (positions: Tensor) => Tensor,
): Tensor {
  const [periodic, options] = typeof given === 'object' ? [true, given] : [given, last];
  expectNumber(name, 'length', length);
  expectFlag(name, 'periodic', periodic);
  expectArguments(name, { options }, { options: anObject });
  const { dtype = 'float32' } = options;
  if (!dtypes[dtype]?.floating) {
    throw new DTypeError({
      what: `${name}: not a floating-point dtype`,
      given: String(dtype),
      expected: 'float16, bfloat16, float32 or float64',
      remedy: 'make the window in float32, and cast it',
    });
  }
  if (!Number.isInteger(length) || length < 0) {
    throw new ArgumentError({
      what: `${name}: not a length`,
      given: String(length),
      expected: 'an integer, 0 or more',
      remedy: 'pass the number of elements of the window',
    });
  }
  return calledAs(name, () => {
    const created = { ...options, dtype };
    if (length === 1) return ones([1], created);
    // A periodic window is followed by its first element, which a symmetric one ends with.
    const end = periodic ? length : length - 1;
    return factors(mul(arange(0, length, 1, created), 1 / end));
  });
}

/** Sums cosines with 1, 2 … periods over the window. */
const cosines =
  (constant: number, ...shares: readonly number[]) =>
  (positions: Tensor): Tensor =>
    shares.reduce<Tensor | null>((sum, share, i) => {
      const wave = mul(cos(mul(positions, 2 * Math.PI * (i + 1))), share);
      return sum ? add(sum, wave) : add(wave, constant);
    }, null)!;

/** Returns Hann's window [length]: ½ − ½ cos. */
export function hannWindow(
  length: number,
  periodic: boolean | WindowOptions = true,
  options: WindowOptions = {},
): Tensor {
  return windowOf('hannWindow', length, periodic, options, cosines(0.5, -0.5));
}

/** Returns Hamming's window [length]: alpha − beta · cos. */
export function hammingWindow(
  length: number,
  periodic: boolean | WindowOptions = true,
  alpha = 0.54,
  beta = 0.46,
  options: WindowOptions = {},
): Tensor {
  expectNumber('hammingWindow', 'alpha', alpha);
  expectNumber('hammingWindow', 'beta', beta);
  return windowOf('hammingWindow', length, periodic, options, cosines(alpha, -beta));
}

/** Returns Blackman's window [length]. */
export function blackmanWindow(
  length: number,
  periodic: boolean | WindowOptions = true,
  options: WindowOptions = {},
): Tensor {
  return windowOf('blackmanWindow', length, periodic, options, cosines(0.42, -0.5, 0.08));
}

/** Returns Bartlett's window [length], a triangle. */
export function bartlettWindow(
  length: number,
  periodic: boolean | WindowOptions = true,
  options: WindowOptions = {},
): Tensor {
  const triangle = (positions: Tensor) => rsub(abs(sub(mul(positions, 2), 1)), 1);
  return windowOf('bartlettWindow', length, periodic, options, triangle);
}
