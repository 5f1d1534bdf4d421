/** Eigenvalues and eigenvectors of symmetric matrices, in float64 for all dtypes. */

import { ofMatrices } from './elimination.ts';

type Rows = readonly Float64Array[];

/**
 * Reduces a symmetric matrix to a tridiagonal one by Householder reflections (tred2 of EISPACK): `d` becomes its
 * diagonal, `e` the entries below it from index 1 on, and `v` the product of the reflections.
 */
function tridiagonalize(v: Rows, d: Float64Array, e: Float64Array): void {
  const n = d.length;
  d.set(v[n - 1]!);
  for (let i = n - 1; i > 0; i--) {
    let scale = 0;
    let h = 0;
    for (let k = 0; k < i; k++) scale += Math.abs(d[k]!);
    if (scale === 0) {
      e[i] = d[i - 1]!;
      for (let j = 0; j < i; j++) {
        d[j] = v[i - 1]![j]!;
        v[i]![j] = 0;
        v[j]![i] = 0;
      }
    } else {
      h = reflect(v, d, e, i, scale);
    }
    d[i] = h;
  }
  accumulate(v, d, e);
}

/** Applies the reflection that clears row i, whose entries are in `d`. Returns half of its vector's squared length. */
function reflect(v: Rows, d: Float64Array, e: Float64Array, i: number, scale: number): number {
  let h = 0;
  for (let k = 0; k < i; k++) {
    d[k]! /= scale;
    h += d[k]! * d[k]!;
  }
  const last = d[i - 1]!;
  const g = last > 0 ? -Math.sqrt(h) : Math.sqrt(h);
  e[i] = scale * g;
  h -= last * g;
  d[i - 1] = last - g;
  e.fill(0, 0, i);
  for (let j = 0; j < i; j++) {
    const f = d[j]!;
    v[j]![i] = f;
    let sum = e[j]! + v[j]![j]! * f;
    for (let k = j + 1; k < i; k++) {
      const own = v[k]![j]!;
      sum += own * d[k]!;
      e[k]! += own * f;
    }
    e[j] = sum;
  }
  let f = 0;
  for (let j = 0; j < i; j++) {
    e[j]! /= h;
    f += e[j]! * d[j]!;
  }
  const part = f / (h + h);
  for (let j = 0; j < i; j++) e[j]! -= part * d[j]!;
  for (let j = 0; j < i; j++) {
    const [own, other] = [d[j]!, e[j]!];
    for (let k = j; k < i; k++) v[k]![j]! -= own * e[k]! + other * d[k]!;
    d[j] = v[i - 1]![j]!;
    v[i]![j] = 0;
  }
  return h;
}

/** Multiplies the reflections, which `tridiagonalize` has left in the columns of `v`. */
function accumulate(v: Rows, d: Float64Array, e: Float64Array): void {
  const n = d.length;
  for (let i = 0; i < n - 1; i++) {
    v[n - 1]![i] = v[i]![i]!;
    v[i]![i] = 1;
    const h = d[i + 1]!;
    if (h !== 0) {
      for (let k = 0; k <= i; k++) d[k] = v[k]![i + 1]! / h;
      for (let j = 0; j <= i; j++) {
        let g = 0;
        for (let k = 0; k <= i; k++) g += v[k]![i + 1]! * v[k]![j]!;
        for (let k = 0; k <= i; k++) v[k]![j]! -= g * d[k]!;
      }
    }
    for (let k = 0; k <= i; k++) v[k]![i + 1] = 0;
  }
  for (let j = 0; j < n; j++) {
    d[j] = v[n - 1]![j]!;
    v[n - 1]![j] = 0;
  }
  v[n - 1]![n - 1] = 1;
  e[0] = 0;
}

/**
 * Diagonalizes a tridiagonal matrix by implicit QL steps (tql2 of EISPACK), applying the rotations to the columns of
 * `v`.
 */
function diagonalize(v: Rows, d: Float64Array, e: Float64Array): void {
  const n = d.length;
  e.copyWithin(0, 1);
  e[n - 1] = 0;
  let shift = 0;
  let size = 0;
  for (let l = 0; l < n; l++) {
    size = Math.max(size, Math.abs(d[l]!) + Math.abs(e[l]!));
    let m = l;
    while (m < n - 1 && Math.abs(e[m]!) > Number.EPSILON * size) m++;
    while (m > l) {
      shift += shiftedStep(v, d, e, l, m);
      if (Math.abs(e[l]!) <= Number.EPSILON * size) break;
    }
    d[l]! += shift;
    e[l] = 0;
  }
}

/** Performs one QL step on rows l to m. Returns the shift that it subtracted from the diagonal. */
function shiftedStep(v: Rows, d: Float64Array, e: Float64Array, l: number, m: number): number {
  const first = d[l]!;
  const half = (d[l + 1]! - first) / (2 * e[l]!);
  const root = half < 0 ? -Math.hypot(half, 1) : Math.hypot(half, 1);
  d[l] = e[l]! / (half + root);
  d[l + 1] = e[l]! * (half + root);
  const after = d[l + 1]!;
  const shift = first - d[l]!;
  for (let i = l + 2; i < d.length; i++) d[i]! -= shift;
  let p = d[m]!;
  let [c, c2, c3] = [1, 1, 1];
  let [s, s2] = [0, 0];
  const below = e[l + 1]!;
  for (let i = m - 1; i >= l; i--) {
    c3 = c2;
    c2 = c;
    s2 = s;
    const g = c * e[i]!;
    const h = c * p;
    const r = Math.hypot(p, e[i]!);
    e[i + 1] = s * r;
    s = e[i]! / r;
    c = p / r;
    p = c * d[i]! - s * g;
    d[i + 1] = h + s * (c * g + s * d[i]!);
    for (const row of v) {
      const own = row[i + 1]!;
      row[i + 1] = s * row[i]! + c * own;
      row[i] = c * row[i]! - s * own;
    }
  }
  p = (-s * s2 * c3 * below * e[l]!) / after;
  e[l] = s * p;
  d[l] = c * p;
  return shift;
}

/**
 * (x [.., n, n], whose lower triangle is read, or the upper one with attr `upper`) → [.., n + 1, n]: the eigenvectors as
 * columns, and in the last row the eigenvalues in ascending order. All NaN if an entry is not finite.
 */
export const symmetricEigen = ofMatrices((n, _inputs, { upper }) => {
  const v = Array.from({ length: n }, () => new Float64Array(n));
  const [d, e] = [new Float64Array(n), new Float64Array(n)];
  return ({ data, from, to }, m) => {
    const start = from[0]! + m * n * n;
    const target = to[0]! + m * (n + 1) * n;
    let allFinite = true;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        const value = data[start + (upper ? j * n + i : i * n + j)]!;
        v[i]![j] = value;
        v[j]![i] = value;
        allFinite &&= Number.isFinite(value);
      }
    }
    if (!allFinite || n === 0) {
      data.fill(NaN, target, target + (n + 1) * n);
      return;
    }
    tridiagonalize(v, d, e);
    diagonalize(v, d, e);
    const order = Array.from(d.keys()).sort((a, b) => d[a]! - d[b]!);
    order.forEach((column, j) => {
      for (let i = 0; i < n; i++) data[target + i * n + j] = v[i]![column]!;
      data[target + n * n + j] = d[column]!;
    });
  };
});
