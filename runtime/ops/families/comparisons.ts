/** Comparisons, and choices by them. */

import {
  dropWhere,
  eq,
  ge,
  gt,
  keepWhere,
  le,
  lt,
  maskedFill,
  ne,
  where,
} from '../pointwise/comparison.ts';

export const comparisonsOps = [dropWhere, eq, ge, gt, keepWhere, le, lt, maskedFill, ne, where];
