/** Triangular systems and Cholesky factors, in float64 for all dtypes. */

import { ArgumentError } from '../../../errors/errors.ts';
import { formatSpec, type TensorMeta } from '../../tensor-meta.ts';
import { matricesOf, ofMatrices, sideOf, singular, subtractRows } from './elimination.ts';

/**
 * (a [.., n, n], b [.., n, k]) → x with a·x = b; reads one triangle of a: attrs `upper`, `unitriangular` (1 on the
 * diagonal, which isn't read).
 */
export const solveTriangular = ofMatrices((n, [a, b], { upper, unitriangular }) => {
  const columns = sideOf(b!);
  const matrix = new Float64Array(n * n);
  const work = new Float64Array(n * columns);
  return ({ data, from, to }, m) => {
    for (let i = 0; i < matrix.length; i++) matrix[i] = data[from[0]! + m * n * n + i]!;
    for (let i = 0; i < work.length; i++) work[i] = data[from[1]! + m * n * columns + i]!;
    for (let step = 0; step < n; step++) {
      const i = upper ? n - 1 - step : step;
      subtractRows(work, columns, i, matrix, i * n, upper ? i + 1 : 0, upper ? n : i);
      if (unitriangular) continue;
      const pivot = matrix[i * n + i]!;
      if (pivot === 0) singular('solveTriangular', a!, m, i);
      for (let j = 0; j < columns; j++) work[i * columns + j]! /= pivot;
    }
    data.set(work, to[0]! + m * n * columns);
  };
});

function notPositive(x: TensorMeta, which: number, column: number): never {
  throw new ArgumentError({
    what: 'cholesky: a matrix is not positive definite',
    given: `${formatSpec(x)}; in matrix ${which} of ${matricesOf(x)} the pivot of column ${column} is not positive`,
    expected: 'symmetric matrices whose eigenvalues are all positive',
    remedy: 'add a small multiple of eye(n) to it',
  });
}

/**
 * Subtracts the products of earlier columns, in order, from the four entries of row i that start at column j. Four sums
 * in flight hide the latency of a single one.
 */
function subtractProducts(factor: Float64Array, n: number, i: number, j: number): void {
  const [own, at] = [i * n, i * n + j];
  const [r0, r1, r2, r3] = [j * n, (j + 1) * n, (j + 2) * n, (j + 3) * n];
  let [x0, x1, x2, x3] = [factor[at]!, factor[at + 1]!, factor[at + 2]!, factor[at + 3]!];
  for (let k = 0; k < j; k++) {
    const value = factor[own + k]!;
    x0 -= value * factor[r0 + k]!;
    x1 -= value * factor[r1 + k]!;
    x2 -= value * factor[r2 + k]!;
    x3 -= value * factor[r3 + k]!;
  }
  factor[at] = x0;
  factor[at + 1] = x1;
  factor[at + 2] = x2;
  factor[at + 3] = x3;
}

/** (x [.., n, n], whose lower triangle is read) → the lower triangular L of L·Lᵀ = x */
export const cholesky = ofMatrices((n, [x]) => {
  const factor = new Float64Array(n * n);
  return ({ data, from, to }, m) => {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) factor[i * n + j] = data[from[0]! + (m * n + i) * n + j]!;
      for (let first = 0; first <= i; first += 4) {
        const isWhole = first + 3 <= i;
        if (isWhole) subtractProducts(factor, n, i, first);
        for (let j = first; j <= i && j < first + 4; j++) {
          let rest = factor[i * n + j]!;
          for (let k = isWhole ? first : 0; k < j; k++)
            rest -= factor[i * n + k]! * factor[j * n + k]!;
          // Written so that NaN fails, too.
          if (i === j && !(rest > 0)) notPositive(x!, m, i);
          factor[i * n + j] = i === j ? Math.sqrt(rest) : rest / factor[j * n + j]!;
        }
      }
    }
    data.set(factor, to[0]! + m * n * n);
  };
});
