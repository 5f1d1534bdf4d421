/** Linear algebra by minors and Cramer's rule: no elimination, no factors. */

import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { at, indices, type Nd, type Reference } from './reference.ts';

type Matrix = readonly (readonly number[])[];

function minor(a: Matrix, row: number, column: number): Matrix {
  const rows = a.filter((_, i) => i !== row);
  return rows.map((own) => own.filter((_, j) => j !== column));
}

/** By the first row (Laplace). */
export function determinant(a: Matrix): number {
  if (a.length === 0) return 1;
  return a[0]!.reduce((sum, value, j) => sum + (-1) ** j * value * determinant(minor(a, 0, j)), 0);
}

export const cofactor = (a: Matrix, i: number, j: number): number =>
  (-1) ** (i + j) * determinant(minor(a, i, j));

function matricesOf(x: Nd): Matrix[] {
  const [rows, columns] = x.shape.slice(-2) as [number, number];
  return indices(x.shape.slice(0, -2)).map((lead) =>
    Array.from({ length: rows }, (_, i) =>
      Array.from({ length: columns }, (_, j) => at(x, [...lead, i, j])),
    ),
  );
}

const elementwise =
  (fn: (a: Matrix, i: number, j: number) => number): Reference =>
  ([x]) =>
    matricesOf(x!).flatMap((a) => a.flatMap((row, i) => row.map((_, j) => fn(a, i, j))));

const solved =
  (read: (a: Matrix) => Matrix): Reference =>
  ([a, b]) => {
    const sides = matricesOf(b!);
    return matricesOf(a!).flatMap((own, m) => {
      const matrix = read(own);
      return matrix.flatMap((_, i) =>
        sides[m]![0]!.map((_, j) => {
          const replaced = matrix.map((row, r) =>
            row.map((value, c) => (c === i ? sides[m]![r]![j]! : value)),
          );
          return determinant(replaced) / determinant(matrix);
        }),
      );
    });
  };

const float = (low: number, high: number, ...shape: number[]) => ({
  shape,
  dtype: 'float32' as const,
  range: [low, high] as const,
});
const single = (attrs: Attrs, of: (x: number) => number[]) => [
  {
    inputs: [float(0.5, 2, 3, 1, 1)],
    attrs,
    reference: (([x]) => matricesOf(x!).flatMap(([row]) => of(row![0]!))) as Reference,
  },
];
const square = float(-2, 2, 2, 3, 3);
const system = [square, float(-2, 2, 2, 3, 4)];

const triangle =
  (upper: boolean, unit: boolean) =>
  (a: Matrix): Matrix =>
    a.map((row, i) =>
      row.map((value, j) => {
        if (i === j) return unit ? 1 : value;
        return upper === i < j ? value : 0;
      }),
    );

export const matrixCases = {
  inverse: [
    {
      inputs: [square],
      attrs: {},
      reference: elementwise((a, i, j) => cofactor(a, j, i) / determinant(a)),
    },
  ],
  solve: [{ inputs: system, attrs: {}, reference: solved((a) => a) }],
  solveTriangular: [true, false].flatMap((upper) =>
    [true, false].map((unitriangular) => ({
      inputs: system,
      attrs: { upper, unitriangular },
      reference: solved(triangle(upper, unitriangular)),
    })),
  ),
  det: [
    {
      inputs: [float(-2, 2, 3, 4, 4)],
      attrs: {},
      reference: (([x]) => matricesOf(x!).map(determinant)) as Reference,
    },
  ],
  logAbsDet: [
    {
      inputs: [square],
      attrs: {},
      reference: (([x]) =>
        matricesOf(x!).map((a) => Math.log(Math.abs(determinant(a))))) as Reference,
    },
  ],
  cofactors: [
    { inputs: [float(-2, 2, 2, 4, 4)], attrs: {}, reference: elementwise(cofactor) },
    { inputs: [float(-2, 2, 2, 1, 1)], attrs: {}, reference: elementwise(cofactor) },
  ],
  // Matrices of more than one number have tests of their own.
  symmetricEigen: single({ upper: false }, (x) => [1, x]),
  orthogonalFactors: single({ complete: false }, (x) => [1, x]),
  singularVectors: single({}, (x) => [1, 1, x]),
  luFactors: single({}, (x) => [x]),
  luPivots: [
    {
      inputs: [{ shape: [3, 1], dtype: 'int32' as const, range: [0, 1] as const }],
      attrs: { count: 1 },
      reference: () => [1, 1, 1],
    },
  ],
  luRows: [
    {
      inputs: [{ shape: [3, 1], dtype: 'int32' as const, range: [1, 2] as const }],
      attrs: { count: 1 },
      reference: () => [0, 0, 0],
    },
  ],
  matrixExp: single({}, (x) => [Math.exp(x)]),
  pseudoinverse: single({ rtol: 0, atol: 0.6 }, (x) => [x > 0.6 ? 1 / x : 0]),
  cholesky: [
    {
      inputs: [float(0.5, 2, 3, 1, 1)],
      attrs: {},
      reference: elementwise((a) => Math.sqrt(a[0]![0]!)),
    },
  ],
};
