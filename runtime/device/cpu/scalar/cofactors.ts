import { ofMatrices } from './elimination.ts';

/**
 * Computes the cofactors of one n×n matrix, which is overwritten: the gradient of its determinant, even if the
 * matrix is singular. With B = PAQ = LU by complete pivoting, adj A = ±Q · adj U · L⁻¹ · P; and with U = [[V, u],
 * [0, w]], adj U = det V · [[w·V⁻¹, −V⁻¹u], [0, 1]], which never divides by the last pivot.
 */
function cofactorsOf(lu: Float64Array, n: number, out: Float64Array): void {
  out.fill(0);
  const rows = Int32Array.from({ length: n }, (_, i) => i);
  const columns = rows.slice();
  let product = 1;
  for (let k = 0; k < n - 1; k++) {
    const best = largest(lu, n, k);
    const [row, column] = [Math.floor(best / n), best % n];
    // Two pivots are missing, so all minors are 0.
    if (lu[best] === 0) return;
    if (row !== k) {
      exchange(lu, k * n, row * n, 1, n);
      [rows[k], rows[row]] = [rows[row]!, rows[k]!];
      product = -product;
    }
    if (column !== k) {
      exchange(lu, k, column, n, n);
      [columns[k], columns[column]] = [columns[column]!, columns[k]!];
      product = -product;
    }
    const pivot = lu[k * n + k]!;
    product *= pivot;
    for (let i = k + 1; i < n; i++) {
      const factor = lu[i * n + k]! / pivot;
      lu[i * n + k] = factor;
      for (let j = k + 1; j < n; j++) lu[i * n + j]! -= factor * lu[k * n + j]!;
    }
  }
  const last = n - 1;
  const y = new Float64Array(n);
  for (let j = 0; j < n; j++) {
    // y = column j of L⁻¹, then of adj U · L⁻¹ / det V.
    for (let i = 0; i < n; i++) {
      y[i] = i === j ? 1 : 0;
      for (let k = j; k < i; k++) y[i]! -= lu[i * n + k]! * y[k]!;
    }
    for (let i = last - 1; i >= 0; i--) {
      y[i] = y[i]! * lu[last * n + last]! - lu[i * n + last]! * y[last]!;
      for (let k = i + 1; k < last; k++) y[i]! -= lu[i * n + k]! * y[k]!;
      y[i]! /= lu[i * n + i]!;
    }
    for (let i = 0; i < n; i++) out[rows[j]! * n + columns[i]!] = product * y[i]!;
  }
}

/** Returns the index of the largest magnitude in the rows and columns from k on, or of a NaN. */
function largest(lu: Float64Array, n: number, k: number): number {
  let best = k * n + k;
  for (let i = k; i < n; i++) {
    for (let j = k; j < n; j++) {
      if (!(Math.abs(lu[i * n + j]!) <= Math.abs(lu[best]!))) best = i * n + j;
    }
  }
  return best;
}

function exchange(data: Float64Array, a: number, b: number, step: number, count: number): void {
  for (let i = 0; i < count * step; i += step) {
    const held = data[a + i]!;
    data[a + i] = data[b + i]!;
    data[b + i] = held;
  }
}

/** (x [.., n, n]) → its cofactors: det x · x⁻ᵀ where x has an inverse. */
export const cofactors = ofMatrices((n) => {
  const [work, result] = [new Float64Array(n * n), new Float64Array(n * n)];
  return ({ data, from, to }, m) => {
    for (let i = 0; i < n * n; i++) work[i] = data[from[0]! + m * n * n + i]!;
    cofactorsOf(work, n, result);
    data.set(result, to[0]! + m * n * n);
  };
});
