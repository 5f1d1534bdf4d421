import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/** The maximum number of sweeps over all pairs of columns; a dozen suffices for float64. */
const sweeps = 60;
const precision = 1e-15;

/**
 * One-sided Jacobi (Hestenes): rotates pairs of the `n` columns of an m×n matrix, stored by columns, until all are
 * orthogonal; the same rotations applied to the identity (`v`) give V.
 */
function orthogonalize(columns: Float64Array[], v: Float64Array[]): void {
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
        rotate(a, b, c, c * t);
        rotate(v[p]!, v[q]!, c, c * t);
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

function rotate(a: Float64Array, b: Float64Array, c: number, s: number): void {
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i]!, b[i]!];
    a[i] = c * x - s * y;
    b[i] = s * x + c * y;
  }
}

/** The singular value decomposition u · diag(`values`) · vᵀ of a matrix; `v` is square and orthogonal. */
interface Decomposition {
  /** Columns that are orthonormal where the value isn't 0. */
  readonly u: readonly Float64Array[];
  readonly v: readonly Float64Array[];
  readonly values: readonly number[];
}

/** The m×n matrices of an operand or result, transposed where there are more columns than rows. */
function layoutOf(m: number, n: number) {
  const wide = n > m;
  const [rows, count] = wide ? [n, m] : [m, n];
  return { rows, count, wide, at: (i: number, j: number) => (wide ? j * n + i : i * n + j) };
}

/** Decomposes the matrix at an index of the data, or its transpose. */
function decompose(data: ArrayLike<number>, from: number, m: number, n: number): Decomposition {
  const { rows, count, at } = layoutOf(m, n);
  const u = Array.from({ length: count }, (_, j) =>
    Float64Array.from({ length: rows }, (_, i) => data[from + at(i, j)]!),
  );
  const v = u.map((_, j) => Float64Array.from({ length: count }, (_, i) => (i === j ? 1 : 0)));
  orthogonalize(u, v);
  const values = u.map((column) => Math.sqrt(product(column, column)));
  u.forEach((column, c) => {
    if (values[c]! > 0) for (let i = 0; i < rows; i++) column[i]! /= values[c]!;
  });
  return { u, v, values };
}

/**
 * Makes column c a unit vector orthogonal to the columns in `before`, from the coordinate vector with the longest
 * remainder.
 */
function complete(columns: readonly Float64Array[], before: readonly number[], c: number): void {
  const column = columns[c]!;
  let [best, longest] = [column, -1];
  for (let unit = 0; unit < column.length && longest < 0.5; unit++) {
    const candidate = new Float64Array(column.length);
    candidate[unit] = 1;
    // Twice, because the errors of the first pass are proportional to what it subtracts.
    for (let pass = 0; pass < 2; pass++) {
      for (const earlier of before) {
        const projection = product(candidate, columns[earlier]!);
        for (let i = 0; i < candidate.length; i++) {
          candidate[i]! -= projection * columns[earlier]![i]!;
        }
      }
    }
    const length = Math.sqrt(product(candidate, candidate));
    if (length > longest) [best, longest] = [candidate, length];
  }
  for (let i = 0; i < column.length; i++) column[i] = best[i]! / longest;
}

/**
 * (x [.., m, n]) → [.., m + n + 1, k], k the smaller of m and n: the orthonormal columns U [m, k] and V [n, k], and the
 * singular values in descending order, with U · diag(values) · Vᵀ = x. All NaN if an entry is not finite.
 */
export const singularVectors: KernelFactory = ([x], [out]) => {
  expectContiguous(x!, out!);
  const { dtype } = x!;
  const [m, n] = x!.shape.slice(-2) as [number, number];
  const { rows, count, wide } = layoutOf(m, n);
  const matrices = sizeOf(x!.shape.slice(0, -2));
  return ([source], [target]) => {
    const data = heap.view(dtype);
    let from = indexOf(source!, dtype);
    let to = indexOf(target!, dtype);
    const size = (m + n + 1) * count;
    for (let k = 0; k < matrices; k++, from += m * n, to += size) {
      if (!data.subarray(from, from + m * n).every(Number.isFinite)) {
        data.fill(NaN, to, to + size);
        continue;
      }
      const { u, v, values } = decompose(data, from, m, n);
      const order = [...values.keys()].sort((a, b) => values[b]! - values[a]!);
      // A column that consists of rounding errors has no direction.
      const least = values[order[0]!]! * Number.EPSILON * rows;
      order.forEach((c, j) => {
        if (!(values[c]! > least)) complete(u, order.slice(0, j), c);
      });
      const [left, right] = wide ? [v, u] : [u, v];
      order.forEach((c, j) => {
        for (let i = 0; i < m; i++) data[to + i * count + j] = left[c]![i]!;
        for (let i = 0; i < n; i++) data[to + (m + i) * count + j] = right[c]![i]!;
        data[to + (m + n) * count + j] = values[c]!;
      });
    }
  };
};

/**
 * (x [.., m, n]) → its pseudoinverse [.., n, m]: singular values of at most the larger of attr `atol` and attr `rtol`
 * times the largest count as 0.
 */
export const pseudoinverse: KernelFactory = ([x], [out], { rtol, atol }) => {
  expectContiguous(x!, out!);
  const { dtype } = x!;
  const [m, n] = x!.shape.slice(-2) as [number, number];
  const { rows, count, wide } = layoutOf(m, n);
  const matrices = sizeOf(x!.shape.slice(0, -2));
  return ([source], [target]) => {
    const data = heap.view(dtype);
    let from = indexOf(source!, dtype);
    let to = indexOf(target!, dtype);
    for (let k = 0; k < matrices; k++, from += m * n, to += m * n) {
      const { u, v, values } = decompose(data, from, m, n);
      const least = Math.max(atol as number, (rtol as number) * Math.max(0, ...values));
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < count; j++) {
          let sum = 0;
          for (let c = 0; c < count; c++) {
            if (!(values[c]! <= least)) sum += (v[c]![j]! * u[c]![i]!) / values[c]!;
          }
          // The pseudoinverse of xᵀ is the transposed pseudoinverse of x.
          data[to + (wide ? i * m + j : j * m + i)] = sum;
        }
      }
    }
  };
};
