import {
  cosineSeries,
  largestMantissa,
  logarithmSeries,
  sineSeries,
} from '../numerics/double-series.ts';
import { toUniforms } from './philox.ts';

/**
 * Normal numbers from uniform ones: G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates"
 * (1958). Computed in float64 from +, −, ·, / and √, which IEEE 754 rounds identically everywhere, by series that are
 * accurate to a few units in the last place. The generated kernels evaluate the same expressions in the same order.
 */

const horner = (coefficients: readonly number[], x: number): number =>
  coefficients.reduce((sum, coefficient) => sum * x + coefficient);

/** ln of a multiple of 2⁻²⁴ in (0, 1]. */
function logarithm(x: number): number {
  const units = x * 2 ** 24;
  const bits = 31 - Math.clz32(units);
  const fraction = units / (1 << bits);
  const isLarge = fraction > largestMantissa;
  const m = isLarge ? fraction / 2 : fraction;
  const exponent = bits - 24 + +isLarge;
  const s = (m - 1) / (m + 1);
  const square = s * s;
  return exponent * Math.LN2 + 2 * (s + s * square * horner(logarithmSeries, square));
}

/**
 * Writes four normal numbers, not yet rounded to float32: r · cos(2πv) and r · sin(2πv), where r = √(−2 ln(1 − u)), for
 * each pair of uniform numbers u and v.
 */
export function toNormals(words: Int32Array, numbers: Float64Array): void {
  toUniforms(words, numbers);
  for (let i = 0; i < 4; i += 2) {
    const [u, v] = [numbers[i]!, numbers[i + 1]!];
    // 1 − u is never 0.
    const radius = Math.sqrt(-2 * logarithm(1 - u));
    const quarters = v * 4;
    const quarter = Math.floor(quarters + 0.5);
    const angle = (quarters - quarter) * (Math.PI / 2);
    const square = angle * angle;
    const sine = angle + angle * square * horner(sineSeries, square);
    const cosine = 1 - 0.5 * square + square * square * horner(cosineSeries, square);
    const [along, across] = quarter % 2 === 0 ? [cosine, sine] : [sine, cosine];
    numbers[i] = radius * (quarter === 1 || quarter === 2 ? -along : along);
    numbers[i + 1] = radius * (quarter === 2 || quarter === 3 ? -across : across);
  }
}
