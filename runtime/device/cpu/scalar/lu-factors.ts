/** Triangular factors of matrices by Gaussian elimination, in float64 for all dtypes. */

import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';
import { subtractRows } from './elimination.ts';

/**
 * (x [.., m, n]) → [L below the diagonal and U on and above it, the original row of each row: int32 [.., m]], with
 * partial pivoting. A column of zeros has no pivot and is left as it is.
 */
export const luFactors: KernelFactory = ([x], outputs) => {
  expectContiguous(x!, ...outputs);
  const { dtype, shape } = x!;
  const [m, n] = shape.slice(-2) as [number, number];
  const matrices = sizeOf(shape.slice(0, -2));
  return ([source], [packed, order]) => {
    const data = heap.view(dtype);
    const [from, to] = [indexOf(source!, dtype), indexOf(packed!, dtype)];
    const rowsTo = indexOf(order!, 'int32');
    const lu = new Float64Array(m * n);
    const rows = new Int32Array(m);
    for (let matrix = 0; matrix < matrices; matrix++) {
      for (let i = 0; i < m * n; i++) lu[i] = data[from + matrix * m * n + i]!;
      for (let i = 0; i < m; i++) rows[i] = i;
      eliminate(lu, rows, m, n);
      data.set(lu, to + matrix * m * n);
      heap.i32.set(rows, rowsTo + matrix * m);
    }
  };
};

function eliminate(lu: Float64Array, rows: Int32Array, m: number, n: number): void {
  for (let k = 0; k < Math.min(m, n); k++) {
    let best = k;
    for (let i = k + 1; i < m; i++) {
      const [size, largest] = [Math.abs(lu[i * n + k]!), Math.abs(lu[best * n + k]!)];
      // The first NaN becomes the pivot: the column isn't one of zeros.
      if (size > largest || (Number.isNaN(size) && !Number.isNaN(largest))) best = i;
    }
    if (lu[best * n + k] === 0) continue;
    exchange(lu, rows, n, k, best);
    for (let i = k + 1; i < m; i++) {
      lu[i * n + k]! /= lu[k * n + k]!;
      subtractRows(lu, n, i, lu, i * n, k, k + 1, k + 1);
    }
  }
}

function exchange(lu: Float64Array, rows: Int32Array, n: number, a: number, b: number): void {
  if (a === b) return;
  for (let j = 0; j < n; j++) {
    const held = lu[a * n + j]!;
    lu[a * n + j] = lu[b * n + j]!;
    lu[b * n + j] = held;
  }
  [rows[a], rows[b]] = [rows[b]!, rows[a]!];
}
