/** Linear systems, inverses and determinants by Gaussian elimination, in float64 for all dtypes. */

import { ArgumentError } from '../../../errors/errors.ts';
import { math } from '../../../numerics/math.ts';
import type { TypedArray } from '../../../spec/dtype.ts';
import { sizeOf } from '../../../spec/shape.ts';
import type { Operand } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../tensor-meta.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';

/** The factors of a row-permuted n×n matrix: L below the diagonal of `lu` (1 on it), U on and above. */
interface Factors {
  readonly n: number;
  readonly lu: Float64Array;
  /** The original row of each row of `lu`. */
  readonly rows: Int32Array;
  /** 1 for an even number of exchanges, −1 for an odd number. */
  sign: number;
  /** The first column without a pivot; n if all have one. */
  rank: number;
}

export const sideOf = (x: TensorMeta): number => x.shape.at(-1)!;
export const matricesOf = (x: TensorMeta): number => sizeOf(x.shape.slice(0, -2));

/** The elements of all matrices, and the start indices of operands and results. */
interface MatrixRun {
  readonly data: TypedArray;
  readonly from: readonly number[];
  readonly to: readonly number[];
}

/**
 * Returns a kernel of n×n matrices, one after the other. `bind` allocates shared memory and returns the work for
 * matrix `m` of a run.
 */
export function ofMatrices(
  bind: (
    n: number,
    inputs: readonly TensorMeta[],
    attrs: Attrs,
  ) => (run: MatrixRun, m: number) => void,
): KernelFactory {
  return (inputs, outputs, attrs) => {
    expectContiguous(...inputs, ...outputs);
    const [x] = inputs;
    const { dtype } = x!;
    const [n, matrices] = [sideOf(x!), matricesOf(x!)];
    const places = (operands: readonly Operand[]) => operands.map((each) => indexOf(each, dtype));
    return (sources, targets) => {
      const run = { data: heap.view(dtype), from: places(sources), to: places(targets) };
      const compute = bind(n, inputs, attrs);
      for (let m = 0; m < matrices; m++) compute(run, m);
    };
  };
}

const factorsOf = (n: number): Factors => ({
  n,
  lu: new Float64Array(n * n),
  rows: new Int32Array(n),
  sign: 1,
  rank: n,
});

function exchangeRows(matrix: Float64Array, n: number, a: number, b: number): void {
  for (let j = 0; j < n; j++) {
    const held = matrix[a * n + j]!;
    matrix[a * n + j] = matrix[b * n + j]!;
    matrix[b * n + j] = held;
  }
}

/** The number of columns that are eliminated before the rest of the matrix is updated for all of them together. */
const panel = 4;

/** Moves the largest entry of column k to its diagonal. Returns false if all are 0. */
function choosePivot(factors: Factors, k: number): boolean {
  const { n, lu, rows } = factors;
  let best = k;
  for (let i = k + 1; i < n; i++) {
    // A NaN becomes the pivot: it doesn't count as a missing one.
    if (!(Math.abs(lu[i * n + k]!) <= Math.abs(lu[best * n + k]!))) best = i;
  }
  if (lu[best * n + k] === 0) return false;
  if (best !== k) {
    exchangeRows(lu, n, k, best);
    [rows[k], rows[best]] = [rows[best]!, rows[k]!];
    factors.sign = -factors.sign;
  }
  return true;
}

/** Partial pivoting (Golub, Van Loan: Matrix Computations, 3.4). Stops if there is no pivot. */
function eliminate(factors: Factors): void {
  const { n, lu, rows } = factors;
  factors.sign = 1;
  factors.rank = n;
  for (let i = 0; i < n; i++) rows[i] = i;
  for (let first = 0; first < n; first += panel) {
    const end = Math.min(first + panel, n);
    for (let k = first; k < end; k++) {
      if (!choosePivot(factors, k)) {
        factors.rank = k;
        return;
      }
      const pivot = lu[k * n + k]!;
      for (let i = k + 1; i < n; i++) {
        const factor = lu[i * n + k]! / pivot;
        lu[i * n + k] = factor;
        if (factor === 0) continue;
        for (let j = k + 1; j < end; j++) lu[i * n + j]! -= factor * lu[k * n + j]!;
      }
    }
    for (let i = first + 1; i < n; i++) {
      subtractRows(lu, n, i, lu, i * n, first, Math.min(i, end), end);
    }
  }
}

function load(factors: Factors, data: ArrayLike<number>, from: number): void {
  const { lu } = factors;
  for (let i = 0; i < lu.length; i++) lu[i] = data[from + i]!;
  eliminate(factors);
}

/** Solves for `columns` right-hand sides together, in place; their rows are in the order of the factors. */
function substitute({ n, lu }: Factors, right: Float64Array, columns: number): void {
  for (let i = 1; i < n; i++) subtractRows(right, columns, i, lu, i * n, 0, i);
  for (let i = n - 1; i >= 0; i--) {
    subtractRows(right, columns, i, lu, i * n, i + 1, n);
    const pivot = lu[i * n + i]!;
    for (let j = 0; j < columns; j++) right[i * columns + j]! /= pivot;
  }
}

/**
 * Subtracts the rows `low` to `high` of `right`, each times its entry of `factors`, from row `to`, one after the other;
 * skips rows whose entry is 0. `start` is the first column.
 */
export function subtractRows(
  right: Float64Array,
  columns: number,
  to: number,
  factors: Float64Array,
  row: number,
  low: number,
  high: number,
  start = 0,
): void {
  let k = low;
  // Four rows at a time: each element is loaded and stored once, but rounded after each row.
  for (; k + 4 <= high; k += 4) {
    const [f0, f1] = [factors[row + k]!, factors[row + k + 1]!];
    const [f2, f3] = [factors[row + k + 2]!, factors[row + k + 3]!];
    if (f0 === 0 || f1 === 0 || f2 === 0 || f3 === 0) {
      for (let i = k; i < k + 4; i++) subtractRow(right, columns, to, factors[row + i]!, i, start);
      continue;
    }
    const [r0, r1] = [k * columns, (k + 1) * columns];
    const [r2, r3] = [(k + 2) * columns, (k + 3) * columns];
    for (let j = start; j < columns; j++) {
      const rest = right[to * columns + j]! - f0 * right[r0 + j]! - f1 * right[r1 + j]!;
      right[to * columns + j] = rest - f2 * right[r2 + j]! - f3 * right[r3 + j]!;
    }
  }
  for (; k < high; k++) subtractRow(right, columns, to, factors[row + k]!, k, start);
}

function subtractRow(
  right: Float64Array,
  columns: number,
  to: number,
  factor: number,
  k: number,
  start: number,
): void {
  if (factor === 0) return;
  for (let j = start; j < columns; j++) {
    right[to * columns + j]! -= factor * right[k * columns + j]!;
  }
}

export function singular(op: string, x: TensorMeta, which: number, column: number): never {
  throw new ArgumentError({
    what: `${op}: a matrix is singular`,
    given: `${formatSpec(x)}; matrix ${which} of ${matricesOf(x)} has no pivot in column ${column}`,
    expected: 'matrices that have an inverse',
    remedy: 'add a small multiple of eye(n), or check for rows that are multiples of others',
  });
}

/** (x [.., n, n]) → x⁻¹ */
export const inverse = ofMatrices((n, [x]) => {
  const factors = factorsOf(n);
  const right = new Float64Array(n * n);
  return ({ data, from, to }, m) => {
    load(factors, data, from[0]! + m * n * n);
    if (factors.rank < n) singular('inverse', x!, m, factors.rank);
    right.fill(0);
    for (let i = 0; i < n; i++) right[i * n + factors.rows[i]!] = 1;
    substitute(factors, right, n);
    data.set(right, to[0]! + m * n * n);
  };
});

/** (a [.., n, n], b [.., n, k]) → x with a·x = b */
export const solve = ofMatrices((n, [a, b]) => {
  const columns = sideOf(b!);
  const factors = factorsOf(n);
  const work = new Float64Array(n * columns);
  return ({ data, from, to }, m) => {
    load(factors, data, from[0]! + m * n * n);
    if (factors.rank < n) singular('solve', a!, m, factors.rank);
    for (let i = 0; i < n; i++) {
      const row = from[1]! + (m * n + factors.rows[i]!) * columns;
      for (let j = 0; j < columns; j++) work[i * columns + j] = data[row + j]!;
    }
    substitute(factors, work, columns);
    data.set(work, to[0]! + m * n * columns);
  };
});

/** (x [.., n, n]) → determinants; 0 for singular matrices. */
export const det = ofMatrices((n) => {
  const factors = factorsOf(n);
  return ({ data, from, to }, m) => {
    load(factors, data, from[0]! + m * n * n);
    let product = factors.rank < n ? 0 : factors.sign;
    for (let i = 0; i < factors.rank; i++) product *= factors.lu[i * n + i]!;
    data[to[0]! + m] = product;
  };
});

/** (x [.., n, n]) → [ln |det x|, sign of det x]; −∞ and 0 for singular matrices. */
export const logAbsDet = ofMatrices((n) => {
  const factors = factorsOf(n);
  return ({ data, from, to }, m) => {
    load(factors, data, from[0]! + m * n * n);
    const isSingular = factors.rank < n;
    let sign = isSingular ? 0 : factors.sign;
    let sum = isSingular ? Number.NEGATIVE_INFINITY : 0;
    for (let i = 0; i < factors.rank; i++) {
      const pivot = factors.lu[i * n + i]!;
      sign *= Math.sign(pivot);
      sum += math.log(Math.abs(pivot));
    }
    data[to[0]! + m] = sum;
    data[to[1]! + m] = sign;
  };
});
