/** Methods that are functions of one or two tensors, except arithmetic. */

import * as regions from '../ops/advanced-indexing/regions-replaced.ts';
import * as scatterReduce from '../ops/advanced-indexing/scatter-reduce.ts';
import * as differences from '../ops/arranging/differences.ts';
import { unique } from '../ops/arranging/distinct.ts';
import { cholesky } from '../ops/linalg/cholesky.ts';
import * as determinants from '../ops/linalg/determinants.ts';
import * as systems from '../ops/linalg/linear-systems.ts';
import { softmin } from '../ops/normalization/softmax.ts';
import * as pairs from '../ops/pointwise/pairs.ts';
import * as special from '../ops/pointwise/special.ts';
import * as thresholds from '../ops/pointwise/thresholds.ts';
import * as distances from '../ops/products/distances.ts';
import * as products from '../ops/products/products.ts';
import * as counting from '../ops/reduce/counting.ts';
import * as middle from '../ops/reduce/middle.ts';
import * as quantiles from '../ops/reduce/quantiles.ts';
import * as running from '../ops/reduce/running-extremes.ts';
import * as statistics from '../ops/reduce/statistics.ts';

export const functionMethods = {
  fmax: pairs.fmax,
  fmin: pairs.fmin,
  hypot: pairs.hypot,
  logaddexp: pairs.logaddexp,
  logaddexp2: pairs.logaddexp2,
  heaviside: pairs.heaviside,
  copysign: pairs.copysign,
  signbit: pairs.signbit,
  rsub: pairs.rsub,
  floatPower: pairs.floatPower,
  isclose: pairs.isclose,
  allclose: statistics.allclose,
  erfinv: special.erfinv,
  lgamma: special.lgamma,
  digamma: special.digamma,
  sinc: special.sinc,
  logit: special.logit,
  deg2rad: special.deg2rad,
  rad2deg: special.rad2deg,
  celu: thresholds.celu,
  glu: thresholds.glu,
  prelu: thresholds.prelu,
  threshold: thresholds.threshold,
  hardshrink: thresholds.hardshrink,
  softshrink: thresholds.softshrink,
  tanhshrink: thresholds.tanhshrink,
  softmin,
  varMean: statistics.varMean,
  stdMean: statistics.stdMean,
  nansum: statistics.nansum,
  nanmean: statistics.nanmean,
  aminmax: statistics.aminmax,
  dist: statistics.dist,
  quantile: quantiles.quantile,
  nanquantile: quantiles.nanquantile,
  cummax: running.cummax,
  cummin: running.cummin,
  logcumsumexp: running.logcumsumexp,
  diff: differences.diff,
  mm: products.mm,
  mv: products.mv,
  bmm: products.bmm,
  dot: products.dot,
  outer: products.outer,
  inner: products.inner,
  kron: products.kron,
  cross: products.cross,
  addmm: products.addmm,
  addmv: products.addmv,
  addbmm: products.addbmm,
  baddbmm: products.baddbmm,
  addr: products.addr,
  tensordot: products.tensordot,
  cdist: distances.cdist,
  inverse: systems.inverse,
  triangularSolve: systems.triangularSolve,
  det: determinants.det,
  logdet: determinants.logdet,
  slogdet: determinants.slogdet,
  cholesky,
  scatterReduce: scatterReduce.scatterReduce,
  indexReduce: scatterReduce.indexReduce,
  maskedScatter: regions.maskedScatter,
  selectScatter: regions.selectScatter,
  sliceScatter: regions.sliceScatter,
  diagonalScatter: regions.diagonalScatter,
  bincount: counting.bincount,
  histc: counting.histc,
  bucketize: counting.bucketize,
  unique,
} as const;

/** Typed in `TensorMethods`. */
export const overloadedFunctions = { median: middle.median, nanmedian: middle.nanmedian } as const;
