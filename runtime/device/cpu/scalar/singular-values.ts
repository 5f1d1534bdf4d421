import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/** The maximum number of sweeps over all pairs of columns; a dozen suffices for float64. */
const sweeps = 60;
const precision = 1e-15;

/**
 * One-sided Jacobi (Hestenes): rotates pairs of the `n` columns of an m×n matrix, stored by columns, until all are
 * orthogonal; the same rotations applied to the identity give V.
 */
function orthogonalize(columns: Float64Array[], turns: Float64Array[]): void {
  const n = columns.length;
  for (let sweep = 0; sweep < sweeps; sweep++) {
    let worst = 0;
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        const [a, b] = [columns[p]!, columns[q]!];
        const [aa, bb, ab] = [product(a, a), product(b, b), product(a, b)];
        if (ab === 0 || Math.abs(ab) <= precision * Math.sqrt(aa * bb)) continue;
        worst = Math.max(worst, Math.abs(ab) / Math.sqrt(aa * bb));
        const zeta = (bb - aa) / (2 * ab);
        const sign = zeta >= 0 ? 1 : -1;
        const t = sign / (Math.abs(zeta) + Math.sqrt(1 + zeta * zeta));
        const c = 1 / Math.sqrt(1 + t * t);
        turn(a, b, c, c * t);
        turn(turns[p]!, turns[q]!, c, c * t);
      }
    }
    if (worst <= precision) return;
  }
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

function turn(a: Float64Array, b: Float64Array, c: number, s: number): void {
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i]!, b[i]!];
    a[i] = c * x - s * y;
    b[i] = s * x + c * y;
  }
}

/** (x [.., m, n]) → [Σ singular values, U·Vᵀ]. */
export const nuclearNorm: KernelFactory = ([x], [sums, slope]) => {
  expectContiguous(x!, sums!, slope!);
  const { dtype } = x!;
  const [m, n] = x!.shape.slice(-2) as [number, number];
  // If there are fewer columns than rows, of the transposed matrix otherwise.
  const wide = n > m;
  const [rows, count] = wide ? [n, m] : [m, n];
  const at = (i: number, j: number) => (wide ? j * n + i : i * n + j);
  const matrices = sizeOf(x!.shape.slice(0, -2));
  return ([source], [target, gradient]) => {
    const data = heap.view(dtype);
    let from = indexOf(source!, dtype);
    let to = indexOf(gradient!, dtype);
    const sumsAt = indexOf(target!, dtype);
    for (let k = 0; k < matrices; k++, from += m * n, to += m * n) {
      const columns = Array.from({ length: count }, (_, j) =>
        Float64Array.from({ length: rows }, (_, i) => data[from + at(i, j)]!),
      );
      const turns = columns.map((_, j) =>
        Float64Array.from({ length: count }, (_, i) => (i === j ? 1 : 0)),
      );
      orthogonalize(columns, turns);
      const values = columns.map((column) => Math.sqrt(product(column, column)));
      data[sumsAt + k] = values.reduce((a, b) => a + b, 0);
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < count; j++) {
          let sum = 0;
          for (let c = 0; c < count; c++) {
            if (values[c]! > 0) sum += (columns[c]![i]! / values[c]!) * turns[c]![j]!;
          }
          data[to + at(i, j)] = sum;
        }
      }
    }
  };
};
