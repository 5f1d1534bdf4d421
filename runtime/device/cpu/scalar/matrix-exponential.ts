/** Matrix exponentials, in float64 for all dtypes. */

import { ofMatrices } from './elimination.ts';

/** 1/19! is below the precision of float64: terms of matrices with a norm of 1 end there. */
const degree = 18;

/** Writes the product of n×n matrices to `out`. */
function multiply(a: Float64Array, b: Float64Array, out: Float64Array, n: number): void {
  out.fill(0);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      const factor = a[i * n + k]!;
      for (let j = 0; j < n; j++) out[i * n + j]! += factor * b[k * n + j]!;
    }
  }
}

/** The largest sum of a column's magnitudes. */
function columnNorm(a: Float64Array, n: number): number {
  let most = 0;
  for (let j = 0; j < n; j++) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += Math.abs(a[i * n + j]!);
    if (!(sum <= most)) most = sum;
  }
  return most;
}

/**
 * (x [.., n, n]) → Σ xᵏ / k!, by scaling and squaring (Higham, 2005): the Taylor polynomial of x / 2ˢ, whose norm is at
 * most 1, squared s times.
 */
export const matrixExp = ofMatrices((n) => {
  const scaled = new Float64Array(n * n);
  let result = new Float64Array(n * n);
  let work = new Float64Array(n * n);
  return ({ data, from, to }, m) => {
    for (let i = 0; i < n * n; i++) scaled[i] = data[from[0]! + m * n * n + i]!;
    let squarings = 0;
    for (let norm = columnNorm(scaled, n); norm > 1 && norm < Infinity; norm /= 2) squarings++;
    for (let i = 0; i < n * n; i++) scaled[i]! *= 0.5 ** squarings;
    result.fill(0);
    for (let i = 0; i < n; i++) result[i * n + i] = 1;
    // Horner's scheme: 1 + x (1 + x/2 (1 + x/3 (…)))
    for (let k = degree; k > 0; k--) {
      multiply(scaled, result, work, n);
      for (let i = 0; i < n * n; i++) work[i]! /= k;
      for (let i = 0; i < n; i++) work[i * n + i]! += 1;
      [result, work] = [work, result];
    }
    for (let k = 0; k < squarings; k++) {
      multiply(result, result, work, n);
      [result, work] = [work, result];
    }
    data.set(result, to[0]! + m * n * n);
  };
});
