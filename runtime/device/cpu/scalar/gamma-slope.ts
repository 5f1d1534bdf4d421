/** How a gamma-distributed number moves with the shape of its distribution, in float64 for all dtypes. */

import { math } from '../../../numerics/math.ts';
import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/** From this shape on, the distribution is expanded around the normal one. */
const largestSummed = 1e6;
/** Sums need a few times the root of the shape. */
const mostTerms = 20_000;

/** ψ(a) for a > 0: by its recurrence up to 10, then asymptotically. */
function digamma(a: number): number {
  let sum = 0;
  let at = a;
  for (; at < 10; at++) sum -= 1 / at;
  const square = 1 / (at * at);
  const series =
    1 / 12 -
    square *
      (1 / 120 -
        square * (1 / 252 - square * (1 / 240 - square * (1 / 132 - square * (691 / 32760)))));
  return sum + math.log(at) - 0.5 / at - square * series;
}

/**
 * dx/da with P(a, x) held fixed, P the distribution function: −(∂P/∂a) / p. Below the mean by the series
 * P = p · x · Σ xⁿ / (a (a + 1) … (a + n)), above it by the continued fraction of 1 − P. No term has the wrong sign, so
 * that nothing cancels.
 */
function slopeAt(x: number, a: number): number {
  if (!(a > 0 && x >= 0 && x < Number.POSITIVE_INFINITY)) return Number.NaN;
  if (x === 0) return 0;
  if (a > largestSummed) return aroundNormal(x, a);
  const log = math.log(x);
  return x <= Math.max(a, 1) ? x * ofSeries(x, a, log) : x * ofFraction(x, a, log);
}

/** Σ tₙ · (ψ(a + n + 1) − ln x) */
function ofSeries(x: number, a: number, log: number): number {
  let term = 1 / a;
  let psi = digamma(a + 1);
  let sum = term * (psi - log);
  for (let n = 1; n < mostTerms; n++) {
    term *= x / (a + n);
    psi += 1 / (a + n);
    const next = term * (psi - log);
    sum += next;
    if (Math.abs(next) <= 1e-17 * Math.abs(sum)) break;
  }
  return sum;
}

/** f · (ln x − ψ(a)) + df/da for f = 1 / (x + 1 − a − 1 (1 − a) / (x + 3 − a − 2 (2 − a) / (x + 5 − a − …))) = g / h. */
function ofFraction(x: number, a: number, log: number): number {
  const weight = log - digamma(a);
  // Convergents and their derivatives; the last two of each.
  let [g, h, dg, dh] = [1, x + 1 - a, 0, -1];
  let [g0, h0, dg0, dh0] = [0, 1, 0, 0];
  let last = Number.NaN;
  for (let n = 1; n < mostTerms; n++) {
    const [b, c] = [x + 2 * n + 1 - a, -n * (n - a)];
    const nextDg = b * dg - g + c * dg0 + n * g0;
    const nextDh = b * dh - h + c * dh0 + n * h0;
    const [nextG, nextH] = [b * g + c * g0, b * h + c * h0];
    const scale = 1 / nextH;
    [g0, h0, dg0, dh0] = [g * scale, h * scale, dg * scale, dh * scale];
    [g, h, dg, dh] = [nextG * scale, 1, nextDg * scale, nextDh * scale];
    const result = g * weight + dg - g * dh;
    if (Math.abs(result - last) <= 1e-16 * Math.abs(result)) return result;
    last = result;
  }
  return last;
}

/** The derivative of the Cornish-Fisher expansion x = a + z √a + (z² − 1) / 3 + (z³ − 7z) / (36 √a) + … */
function aroundNormal(x: number, a: number): number {
  const root = Math.sqrt(a);
  const distance = (x - a) / root;
  const z = distance - (distance * distance - 1) / (3 * root);
  return 1 + z / (2 * root) - (z * z * z - 7 * z) / (72 * a * root);
}

/** (x, a) → how x moves with a. */
export const gammaSlope: KernelFactory = ([x, a], [out]) => {
  expectContiguous(x!, a!, out!);
  const { dtype } = x!;
  const size = sizeOf(x!.shape);
  return ([sample, shape], [target]) => {
    const data = heap.view(dtype);
    const [from, by] = [indexOf(sample!, dtype), indexOf(shape!, dtype)];
    const to = indexOf(target!, dtype);
    for (let i = 0; i < size; i++) data[to + i] = slopeAt(data[from + i]!, data[by + i]!);
  };
};
