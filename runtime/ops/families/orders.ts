/** Extremes, orders, and results up to each entry. */

import { scatterReduceOp } from '../advanced-indexing/scatter-reduce.ts';
import { amax, amin, argmax, argmin, max, min } from '../reduce/extremes.ts';
import { sortOp, topkOp } from '../reduce/order.ts';
import { cummax, cummin, logcumsumexp } from '../reduce/running-extremes.ts';
import { cumprodGradOp, cumprodOp, cumsumOp, prodOp } from '../reduce/scans.ts';

export const ordersOps = [
  scatterReduceOp,
  amax,
  amin,
  argmax,
  argmin,
  max,
  min,
  sortOp,
  topkOp,
  cummax,
  cummin,
  logcumsumexp,
  cumprodGradOp,
  cumprodOp,
  cumsumOp,
  prodOp,
];
