/** Extremes, sorting and scans. */

import { scatterReduceOp } from '../advanced-indexing/scatter-reduce.ts';
import { amax, amin, argmax, argmin, max, min } from '../reduce/extremes.ts';
import { sortOp, topkOp } from '../reduce/order.ts';
import { cummax, cummin, logcumsumexpGradOp, logcumsumexpOp } from '../reduce/running-extremes.ts';
import { cumprodGradOp, cumprodOp, cumsumOp, prodOp } from '../reduce/scans.ts';

export const ordersOps = [
  amax,
  amin,
  argmax,
  argmin,
  cummax,
  cummin,
  cumprodGradOp,
  cumprodOp,
  cumsumOp,
  logcumsumexpGradOp,
  logcumsumexpOp,
  max,
  min,
  prodOp,
  scatterReduceOp,
  sortOp,
  topkOp,
];
