/** Comparisons, and selection by them. */

import {
  dropWhereOp,
  eq,
  ge,
  gt,
  keepWhereOp,
  le,
  lt,
  maskedFillOp,
  ne,
  whereOp,
} from '../pointwise/comparison.ts';

export const comparisonsOps = [
  dropWhereOp,
  eq,
  ge,
  gt,
  keepWhereOp,
  le,
  lt,
  maskedFillOp,
  ne,
  whereOp,
];
