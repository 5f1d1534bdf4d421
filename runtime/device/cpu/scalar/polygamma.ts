import { math } from '../../../numerics/math.ts';
import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/** B₂ⱼ / (2j)! of the Euler-Maclaurin formula. */
const bernoulli = [
  1 / 12,
  -1 / 720,
  1 / 30240,
  -1 / 1209600,
  1 / 47900160,
  -691 / 1307674368000,
  1 / 74724249600,
];

/** Σ (a + k)^−s over k ≥ 0, for a ≥ 0 and integers s ≥ 2: its terms up to 12, then the integral. */
function hurwitzZeta(s: number, a: number): number {
  if (a === Number.POSITIVE_INFINITY) return 0;
  let sum = 0;
  let at = a;
  for (; at < 12; at++) {
    if (at === 0) return Number.POSITIVE_INFINITY;
    sum += math.pow(at, -s);
  }
  let term = math.pow(at, -s);
  sum += math.pow(at, 1 - s) / (s - 1) + term / 2;
  let factor = s;
  term /= at;
  bernoulli.forEach((each, j) => {
    sum += each * factor * term;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
    term /= at * at;
  });
  return sum;
}

/** Returns the coefficients of a derivative of cot y as a polynomial in c = cot y; c′ = −(1 + c²). */
function cotangentDerivative(order: number): number[] {
  let polynomial = [0, 1];
  for (let k = 0; k < order; k++) {
    const slope = polynomial.slice(1).map((each, i) => each * (i + 1));
    const next = new Array<number>(slope.length + 2).fill(0);
    slope.forEach((each, i) => {
      next[i]! -= each;
      next[i + 2]! -= each;
    });
    polynomial = next;
  }
  return polynomial;
}

/**
 * ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹ n! ζ(n + 1, x) for x ≥ 0; below, by reflection: ψ⁽ⁿ⁾(x) = (−1)ⁿ ψ⁽ⁿ⁾(1 − x) − πⁿ⁺¹ cot⁽ⁿ⁾(πx).
 * The work doesn't grow with |x|.
 */
export const polygamma: KernelFactory = ([x], [out], { order }) => {
  expectContiguous(x!, out!);
  const { dtype } = x!;
  const size = sizeOf(x!.shape);
  const n = order as number;
  let factor = n % 2 === 0 ? -1 : 1;
  for (let k = 2; k <= n; k++) factor *= k;
  const polynomial = cotangentDerivative(n);
  const valueAt = (at: number): number => {
    if (!(at < 0)) return factor * hurwitzZeta(n + 1, at);
    const beside = at - Math.round(at);
    if (beside === 0) return factor * Number.POSITIVE_INFINITY;
    const cotangent = 1 / math.tan(Math.PI * beside);
    const slope = polynomial.reduceRight((sum, coefficient) => sum * cotangent + coefficient, 0);
    const mirrored = (n % 2 === 0 ? 1 : -1) * factor * hurwitzZeta(n + 1, 1 - at);
    return mirrored - math.pow(Math.PI, n + 1) * slope;
  };
  return ([source], [target]) => {
    const data = heap.view(dtype);
    const [from, to] = [indexOf(source!, dtype), indexOf(target!, dtype)];
    for (let i = 0; i < size; i++) data[to + i] = valueAt(data[from + i]!);
  };
};
