/** Operators of PyTorch for linear systems, determinants and factors. */

import * as ours from '../../runtime/index.ts';
import { type Adapters, adapter } from './arguments.ts';

const inverse = adapter('inverse(x)', 'input', (given) => ours.inverse(given.tensor('input')));
const det = adapter('det(x)', 'input', (given) => ours.det(given.tensor('input')));
const slogdet = adapter('slogdet(x)', 'input', (given) => ours.slogdet(given.tensor('input')));
const cholesky = adapter('cholesky(x, { upper })', 'input upper', (given) =>
  ours.cholesky(given.tensor('input'), { upper: given.flag('upper', false) }),
);

export const matrixAdapters: Adapters = {
  inverse,
  'linalg.inv': inverse,
  det,
  'linalg.det': det,
  slogdet,
  'linalg.slogdet': slogdet,
  logdet: adapter('logdet(x)', 'input', (given) => ours.logdet(given.tensor('input'))),
  cholesky,
  'linalg.cholesky': cholesky,
  'linalg.solve': adapter('solve(a, b, { left })', 'a b left', (given) =>
    ours.solve(given.tensor('a'), given.tensor('b'), { left: given.flag('left', true) }),
  ),
  'linalg.solve_triangular': adapter(
    'solveTriangular(a, b, { upper, left, unitriangular })',
    'a b upper left unitriangular',
    (given) =>
      ours.solveTriangular(given.tensor('a'), given.tensor('b'), {
        upper: given.flag('upper', false),
        left: given.flag('left', true),
        unitriangular: given.flag('unitriangular', false),
      }),
  ),
  // The solution alone, without the matrix that it was for.
  'triangular_solve[0]': adapter(
    'triangularSolve(b, a, { upper, transpose, unitriangular })',
    'b a upper transpose unitriangular',
    (given) =>
      ours.triangularSolve(given.tensor('b'), given.tensor('a'), {
        upper: given.flag('upper', true),
        transpose: given.flag('transpose', false),
        unitriangular: given.flag('unitriangular', false),
      }),
  ),
};
