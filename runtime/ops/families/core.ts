/** Ops that most programs contain. */

import {
  absOp,
  addOp,
  addScalarOp,
  largerShareOp,
  maximumOp,
  minimumOp,
  mulOp,
  mulScalarOp,
  negOp,
  signOp,
  subOp,
} from '../arithmetic/arithmetic.ts';
import { expand, expandLike, expandLikeOp, expandOp, sumTo, sumToOp } from '../core/broadcast.ts';
import { cast } from '../core/cast.ts';
import { copy } from '../core/copy.ts';
import { literal } from '../core/literal.ts';
import {
  addcdivInto,
  addcmulInto,
  addScalarInto,
  addScaledInto,
  copyInto,
  fillInto,
  mulInto,
  mulScalarInto,
} from '../in-place/in-place.ts';
import { fullOp } from '../movement/create.ts';
import { narrowGradOp, narrowOp, permuteOp, viewLikeOp, viewOp } from '../movement/movement.ts';

export const coreOps = [
  absOp,
  addOp,
  addScalarInto,
  addScalarOp,
  addScaledInto,
  addcdivInto,
  addcmulInto,
  cast,
  copy,
  copyInto,
  expand,
  expandLike,
  expandLikeOp,
  expandOp,
  fillInto,
  fullOp,
  largerShareOp,
  literal,
  maximumOp,
  minimumOp,
  mulInto,
  mulOp,
  mulScalarInto,
  mulScalarOp,
  narrowGradOp,
  narrowOp,
  negOp,
  permuteOp,
  signOp,
  subOp,
  sumTo,
  sumToOp,
  viewLikeOp,
  viewOp,
];
