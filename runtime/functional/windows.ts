/** Windows of signals, by PyTorch's names: weights that taper to both ends. */

import { ArgumentError, DTypeError } from '../errors/errors.ts';
import { cast } from '../ops/core/cast.ts';
import type { CreateOptions } from '../ops/core/creation-options.ts';
import { ones } from '../ops/movement/create.ts';
import { arange } from '../ops/movement/ranges.ts';
import { abs, add, cos, mul, rsub, square, sub } from '../ops/pointwise/pointwise.ts';
import { expectFlag, expectNumber } from '../ops/record/positional.ts';
import { expectArguments, givenBothWays } from '../options/expect-options.ts';
import { anObject } from '../options/option-kinds.ts';
import { type DType, dtypes } from '../spec/dtype.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

export interface WindowOptions {
  /** float32 by default; a floating-point dtype. */
  readonly dtype?: DType;
  readonly device?: CreateOptions['device'];
}

/** Returns the argument, or its default value and the options that stand in its place. */
function withOptions<T>(
  name: string,
  argument: T | WindowOptions,
  otherwise: T,
  last: WindowOptions | undefined,
): [given: T, options: WindowOptions | undefined] {
  if (typeof argument !== 'object' || argument === null) return [argument as T, last];
  if (last !== undefined) throw givenBothWays(name, last, ['dtype', 'device']);
  return [otherwise, argument];
}

/** Computes a window from the positions of its elements, from 0 to 1. Options may stand in the place of `periodic`. */
function windowOf(
  name: string,
  length: number,
  periodicOrOptions: boolean | WindowOptions,
  last: WindowOptions | undefined,
  factors: (positions: Tensor) => Tensor,
): Tensor {
  const [periodic, options = {}] = withOptions(name, periodicOrOptions, true, last);
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

/** Returns Kaiser's window [length]: I₀(beta · √(1 − x²)) / I₀(beta) with x from −1 to 1; `beta` is 12 by default. */
export function kaiserWindow(
  length: number,
  periodic: boolean | WindowOptions = true,
  beta: number | WindowOptions = 12,
  options?: WindowOptions,
): Tensor {
  const [shape, last] = withOptions('kaiserWindow', beta, 12, options);
  expectNumber('kaiserWindow', 'beta', shape);
  return windowOf('kaiserWindow', length, periodic, last, (positions) => {
    const { dtype } = positions;
    const isHalf = dtype === 'float16' || dtype === 'bfloat16';
    return cast(kaiser(isHalf ? cast(positions, 'float32') : positions, shape), dtype);
  });
}

/** I₀(z) / I₀(beta), z = beta · √(1 − x²), by I₀(z) = Σ ((z/2)^k / k!)². */
function kaiser(positions: Tensor, beta: number): Tensor {
  const { dtype, device } = positions;
  // From here on, the dtype can't hold 1 / I₀(beta).
  const steepest = dtype === 'float64' ? 700 : 90;
  if (!(Math.abs(beta) <= steepest)) {
    throw new ArgumentError({
      what: 'kaiserWindow: not a beta',
      given: String(beta),
      expected: `a number from -${steepest} to ${steepest}`,
      remedy: 'pass a smaller beta, or { dtype: "float64" }, which takes up to 700',
    });
  }
  const quarter = (beta / 2) ** 2;
  // Terms from here on are below the rounding of float64.
  const terms = Math.ceil(1.5 * Math.abs(beta)) + 20;
  let whole = 1;
  for (let k = terms; k > 0; k--) whole = 1 + (whole * quarter) / k ** 2;
  const unit = 1 / whole;
  const argument = mul(rsub(square(sub(mul(positions, 2), 1)), 1), quarter);
  let sum = mul(ones([], { dtype, device }), unit);
  for (let k = terms; k > 0; k--) sum = add(mul(mul(argument, 1 / k ** 2), sum), unit);
  return sum;
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
  options?: WindowOptions,
): Tensor {
  return windowOf('hannWindow', length, periodic, options, cosines(0.5, -0.5));
}

/** Returns Hamming's window [length]: alpha − beta · cos. */
export function hammingWindow(
  length: number,
  periodic: boolean | WindowOptions = true,
  alpha = 0.54,
  beta = 0.46,
  options?: WindowOptions,
): Tensor {
  expectNumber('hammingWindow', 'alpha', alpha);
  expectNumber('hammingWindow', 'beta', beta);
  return windowOf('hammingWindow', length, periodic, options, cosines(alpha, -beta));
}

/** Returns Blackman's window [length]. */
export function blackmanWindow(
  length: number,
  periodic: boolean | WindowOptions = true,
  options?: WindowOptions,
): Tensor {
  return windowOf('blackmanWindow', length, periodic, options, cosines(0.42, -0.5, 0.08));
}

/** Returns Bartlett's window [length], a triangle. */
export function bartlettWindow(
  length: number,
  periodic: boolean | WindowOptions = true,
  options?: WindowOptions,
): Tensor {
  const triangle = (positions: Tensor) => rsub(abs(sub(mul(positions, 2), 1)), 1);
  return windowOf('bartlettWindow', length, periodic, options, triangle);
}
