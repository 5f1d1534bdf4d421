/** Orthogonal factors of matrices by Householder reflections, in float64 for all dtypes. */

import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/**
 * Replaces column k from row k on by that of R and, below the diagonal, the vector of its reflection, whose entry in
 * row k is 1. Returns the reflection's factor. As in LAPACK, R's diagonal entry has the opposite sign of the column's
 * first.
 */
function reflectColumn(a: Float64Array, m: number, n: number, k: number): number {
  let tail = 0;
  for (let i = k + 1; i < m; i++) tail = Math.hypot(tail, a[i * n + k]!);
  const head = a[k * n + k]!;
  if (tail === 0) return 0;
  const length = Math.hypot(head, tail);
  const beta = head >= 0 ? -length : length;
  for (let i = k + 1; i < m; i++) a[i * n + k]! /= head - beta;
  a[k * n + k] = beta;
  return (beta - head) / beta;
}

/** Applies reflection k of `a` to the columns from `first` on of a matrix with the same number of rows. */
function applyReflection(
  a: Float64Array,
  n: number,
  k: number,
  factor: number,
  target: Float64Array,
  [rows, columns, first]: readonly [number, number, number],
): void {
  for (let j = first; j < columns; j++) {
    let sum = target[k * columns + j]!;
    for (let i = k + 1; i < rows; i++) sum += a[i * n + k]! * target[i * columns + j]!;
    sum *= factor;
    target[k * columns + j]! -= sum;
    for (let i = k + 1; i < rows; i++) target[i * columns + j]! -= a[i * n + k]! * sum;
  }
}

/**
 * (x [.., m, n]) → [.., m + n, k]: the orthonormal columns Q [m, k] and, below them, the transpose of the upper
 * triangular R [k, n], with Q·R = x. k is the smaller of m and n, or m with attr `complete`.
 */
export const orthogonalFactors: KernelFactory = ([x], [out], { complete }) => {
  expectContiguous(x!, out!);
  const { dtype } = x!;
  const [m, n] = x!.shape.slice(-2) as [number, number];
  const least = Math.min(m, n);
  const k = complete ? m : least;
  const matrices = sizeOf(x!.shape.slice(0, -2));
  return ([source], [target]) => {
    const data = heap.view(dtype);
    const a = new Float64Array(m * n);
    const q = new Float64Array(m * k);
    const factors = new Float64Array(least);
    for (let which = 0; which < matrices; which++) {
      const from = indexOf(source!, dtype) + which * m * n;
      const to = indexOf(target!, dtype) + which * (m + n) * k;
      for (let i = 0; i < a.length; i++) a[i] = data[from + i]!;
      for (let c = 0; c < least; c++) {
        factors[c] = reflectColumn(a, m, n, c);
        applyReflection(a, n, c, factors[c]!, a, [m, n, c + 1]);
      }
      q.fill(0);
      for (let i = 0; i < k; i++) q[i * k + i] = 1;
      for (let c = least - 1; c >= 0; c--) applyReflection(a, n, c, factors[c]!, q, [m, k, c]);
      data.set(q, to);
      for (let j = 0; j < n; j++) {
        for (let i = 0; i < k; i++)
          data[to + (m + j) * k + i] = i <= j && i < least ? a[i * n + j]! : 0;
      }
    }
  };
};
