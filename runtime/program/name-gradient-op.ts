import type { OpRecord } from '../ops/record/define-op.ts';
import { sameElements } from './alias-op.ts';

/**
 * (gradient, name, other) → the gradient, if `name` and `other` are one tensor in this run; with attr `apart`, if they are
 * two; else it is missing. So a contribution to a tensor that branches or loops hand on is added to the sum it belongs to.
 */
export const nameGradientOp: OpRecord = {
  ...sameElements('nameGradient'),
  operands: [
    { name: 'gradient', use: 'data' },
    { name: 'name', use: 'shape' },
    { name: 'other', use: 'shape' },
  ],
};
