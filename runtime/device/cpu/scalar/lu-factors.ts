/** Triangular factors of matrices by Gaussian elimination, in float64 for all dtypes. */

import { ArgumentError } from '../../../errors/errors.ts';
import { sizeOf } from '../../../spec/shape.ts';
import { formatSpec } from '../../tensor-meta.ts';
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

/** (the original row of each row: int32 [.., m]) → the row, from 1 on, that each pivot was exchanged with: int32 [.., k]. */
export const luPivots: KernelFactory = ([order], [pivots]) => {
  expectContiguous(order!, pivots!);
  const [m, k] = [order!.shape.at(-1)!, pivots!.shape.at(-1)!];
  const matrices = sizeOf(order!.shape.slice(0, -1));
  return ([source], [result]) => {
    const [from, to] = [indexOf(source!, 'int32'), indexOf(result!, 'int32')];
    for (let matrix = 0; matrix < matrices; matrix++) {
      const rows = rowsInOrder(m);
      for (let i = 0; i < k; i++) {
        const at = rows.indexOf(heap.i32[from + matrix * m + i]!, i);
        [rows[i], rows[at]] = [rows[at]!, rows[i]!];
        heap.i32[to + matrix * k + i] = at + 1;
      }
    }
  };
};

/** (pivots: int32 [.., k]) → the original row of each row: int32 [.., m]. Throws ArgumentError for a row that isn't there. */
export const luRows: KernelFactory = ([pivots], [order]) => {
  expectContiguous(pivots!, order!);
  const [k, m] = [pivots!.shape.at(-1)!, order!.shape.at(-1)!];
  const matrices = sizeOf(order!.shape.slice(0, -1));
  return ([source], [result]) => {
    const [from, to] = [indexOf(source!, 'int32'), indexOf(result!, 'int32')];
    for (let matrix = 0; matrix < matrices; matrix++) {
      const rows = rowsInOrder(m);
      for (let i = 0; i < k; i++) {
        const at = heap.i32[from + matrix * k + i]! - 1;
        if (at < 0 || at >= m) throw noSuchRow(formatSpec(pivots!), at + 1, m);
        [rows[i], rows[at]] = [rows[at]!, rows[i]!];
      }
      heap.i32.set(rows, to + matrix * m);
    }
  };
};

const rowsInOrder = (m: number): Int32Array => Int32Array.from({ length: m }, (_, i) => i);

const noSuchRow = (pivots: string, row: number, m: number): ArgumentError =>
  new ArgumentError({
    what: 'luRows: a pivot is not a row of the matrix',
    given: `${pivots} with ${row}`,
    expected: `rows from 1 to ${m}`,
    remedy: 'pass the pivots that luFactor returned',
  });
