/** Operators of PyTorch for linear systems, determinants and factors. */

import * as ours from '../../runtime/index.ts';
import { type Adapters, type Arguments, adapter } from './arguments.ts';

const inverse = adapter('inverse(x)', 'input', (given) => ours.inverse(given.tensor('input')));
const det = adapter('det(x)', 'input', (given) => ours.det(given.tensor('input')));
const slogdet = adapter('slogdet(x)', 'input', (given) => ours.slogdet(given.tensor('input')));
const cholesky = adapter('cholesky(x, { upper })', 'input upper', (given) =>
  ours.cholesky(given.tensor('input'), { upper: given.flag('upper', false) }),
);

const rank = 'input atol rtol hermitian';
const tolerances = (given: Arguments) => ({
  rtol: given.numberOr('rtol', null),
  atol: given.numberOr('atol', null),
});
const uplo = (given: Arguments) => ({ uplo: given.text<'L' | 'U'>('UPLO', 'L') });

const decompositions: Adapters = {
  'linalg.eigh': adapter('eigh(x, { uplo })', 'A UPLO', (given) =>
    ours.eigh(given.tensor('A'), uplo(given)),
  ),
  'linalg.eigvalsh': adapter('eigvalsh(x, { uplo })', 'A UPLO', (given) =>
    ours.eigvalsh(given.tensor('A'), uplo(given)),
  ),
  'linalg.svd': adapter('svd(x, { fullMatrices })', 'A full_matrices', (given) =>
    ours.svd(given.tensor('A'), { fullMatrices: given.flag('full_matrices', true) }),
  ),
  'linalg.svdvals': adapter('svdvals(x)', 'A', (given) => ours.svdvals(given.tensor('A'))),
  'linalg.qr': adapter('qr(x, mode)', 'A mode', (given) =>
    ours.qr(given.tensor('A'), given.text('mode', 'reduced')),
  ),
  'linalg.lu': adapter('lu(x)', 'A', (given) => ours.lu(given.tensor('A'))),
  'linalg.lu_factor': adapter('luFactor(x)', 'A', (given) => ours.luFactor(given.tensor('A'))),
  'linalg.lu_solve': adapter(
    'luSolve(lu, pivots, b, { left, adjoint })',
    'LU pivots B left adjoint',
    (given) =>
      ours.luSolve(given.tensor('LU'), given.tensor('pivots'), given.tensor('B'), {
        left: given.flag('left', true),
        adjoint: given.flag('adjoint', false),
      }),
  ),
  matrix_exp: adapter('matrixExp(x)', 'input', (given) => ours.matrixExp(given.tensor('input'))),
  'linalg.pinv': adapter('pinv(x, { rtol, atol })', rank, (given) =>
    ours.pinv(given.tensor('input'), tolerances(given)),
  ),
  'linalg.matrix_rank': adapter('matrixRank(x, { rtol, atol, hermitian })', rank, (given) =>
    ours.matrixRank(given.tensor('input'), {
      ...tolerances(given),
      hermitian: given.flag('hermitian', false),
    }),
  ),
  'linalg.lstsq': adapter('lstsq(a, b, { rcond })', 'A B rcond driver', (given) =>
    ours.lstsq(given.tensor('A'), given.tensor('B'), { rcond: given.numberOr('rcond', null) }),
  ),
};

export const matrixAdapters: Adapters = {
  ...decompositions,
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
