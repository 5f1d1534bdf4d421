import { sizeOf } from '../../../tensor/shape.ts';
import { heap } from '../heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../kernel.ts';

/** B₂ⱼ / (2j)! of Euler's and Maclaurin's formula. */
const bernoulli = [
  1 / 12,
  -1 / 720,
  1 / 30240,
  -1 / 1209600,
  1 / 47900160,
  -691 / 1307674368000,
  1 / 74724249600,
];

/** Σ (a + k)^−s over k from 0 on, for whole s from 2 on; by its terms up to 12, then by the integral. */
function hurwitzZeta(s: number, a: number): number {
  let sum = 0;
  let at = a;
  for (; at < 12; at++) {
    if (at === 0) return Number.POSITIVE_INFINITY;
    sum += at ** -s;
  }
  let term = at ** -s;
  sum += (at * term) / (s - 1) + term / 2;
  let factor = s;
  term /= at;
  bernoulli.forEach((own, j) => {
    sum += own * factor * term;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
    term /= at * at;
  });
  return sum;
}

/** ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹ n! ζ(n + 1, x) */
export const polygamma: KernelFactory = ([x], [out], { order }) => {
  expectContiguous(x!, out!);
  const { dtype } = x!;
  const size = sizeOf(x!.shape);
  const n = order as number;
  let factor = n % 2 === 0 ? -1 : 1;
  for (let k = 2; k <= n; k++) factor *= k;
  return ([source], [target]) => {
    const data = heap.view(dtype);
    const [from, to] = [indexOf(source!, dtype), indexOf(target!, dtype)];
    for (let i = 0; i < size; i++) data[to + i] = factor * hurwitzZeta(n + 1, data[from + i]!);
  };
};
