/**
 * Random numbers, linear algebra, losses and gradients with dedicated kernels, in-place pointwise ops, and
 * reduced-precision numbers.
 */

import { scaleGradientOp } from '../advanced-indexing/embedding.ts';
import { packBitsOp, unpackBitsOp } from '../core/bits.ts';
import { dequantizeOp, quantizeOp } from '../core/quantize.ts';
import {
  clampInto,
  divInto,
  divScalarInto,
  maximumInto,
  minimumInto,
  powInto,
  powScalarInto,
  unaryInPlace,
} from '../in-place/pointwise-in-place.ts';
import { choleskyOp } from '../linalg/cholesky.ts';
import { cofactorsOp, detOp, logAbsDetOp } from '../linalg/determinants.ts';
import { pseudoinverseOp } from '../linalg/least-squares.ts';
import { inverseOp, solveOp, solveTriangularOp } from '../linalg/linear-systems.ts';
import { luFactorsOp, luPivotsOp, luRowsOp } from '../linalg/lu-factors.ts';
import { matrixExpOp } from '../linalg/matrix-exponential.ts';
import { orthogonalFactorsOp } from '../linalg/orthogonal-factors.ts';
import { singularVectorsOp } from '../linalg/singular-values.ts';
import { symmetricEigenOp } from '../linalg/symmetric-eigen.ts';
import { binaryCrossEntropyOp, logitCrossEntropyOp } from '../loss/probability-losses.ts';
import { smoothL1Op } from '../loss/regression-losses.ts';
import { i0Op, i1Op } from '../pointwise/bessel.ts';
import { integerPairsOp } from '../pointwise/integer-pairs.ts';
import { normalOp, uniformOp } from '../random/drawn.ts';
import { gammaSlopeOp } from '../random/gamma-slope.ts';

export const rareOps = [
  normalOp,
  uniformOp,
  binaryCrossEntropyOp,
  choleskyOp,
  clampInto,
  cofactorsOp,
  dequantizeOp,
  detOp,
  divInto,
  divScalarInto,
  integerPairsOp,
  gammaSlopeOp,
  i0Op,
  i1Op,
  inverseOp,
  logAbsDetOp,
  logitCrossEntropyOp,
  luFactorsOp,
  luPivotsOp,
  luRowsOp,
  matrixExpOp,
  maximumInto,
  minimumInto,
  orthogonalFactorsOp,
  packBitsOp,
  powInto,
  powScalarInto,
  pseudoinverseOp,
  quantizeOp,
  scaleGradientOp,
  singularVectorsOp,
  smoothL1Op,
  symmetricEigenOp,
  solveOp,
  solveTriangularOp,
  unaryInPlace,
  unpackBitsOp,
];
