/** Public functions of linear algebra. */

export { type CholeskyOptions, cholesky } from './cholesky.ts';
export { det, logdet, slogdet } from './determinants.ts';
export {
  type LstsqOptions,
  lstsq,
  type MatrixRankOptions,
  matrixRank,
  pinv,
  type RankOptions,
} from './least-squares.ts';
export {
  inverse,
  type SolveOptions,
  solve,
  solveTriangular,
  type TriangularOptions,
  type TriangularSolveOptions,
  triangularSolve,
} from './linear-systems.ts';
export { type LuSolveOptions, lu, luFactor, luSolve } from './lu-factors.ts';
export { matrixExp } from './matrix-exponential.ts';
export { matrixPower } from './matrix-power.ts';
export { norm } from './norm.ts';
export { qr } from './orthogonal-factors.ts';
export { svdvals } from './singular-values.ts';
export { type SvdOptions, svd } from './svd.ts';
export { eigh, eigvalsh, type SymmetricOptions } from './symmetric-eigen.ts';
