/** Ops that most programs contain. */

import {
  abs,
  add,
  addOp,
  maximum,
  minimum,
  mul,
  neg,
  sign,
  sub,
} from '../arithmetic/arithmetic.ts';
import { expand, expandLike, expandLikeOp, expandOp, sumTo, sumToOp } from '../core/broadcast.ts';
import { cast, casting, counting } from '../core/cast.ts';
import { copy } from '../core/copy.ts';
import { literal } from '../core/literal.ts';
import {
  add_,
  addcdiv_,
  addcmul_,
  copy_,
  fill_,
  inferTarget,
  intoTarget,
  mul_,
  numberIntoTarget,
} from '../in-place/in-place.ts';
import { fullOp } from '../movement/create.ts';
import { narrowGradOp, narrowOp, permuteOp, viewLikeOp, viewOp } from '../movement/movement.ts';

export const coreOps = [
  abs,
  add,
  addOp,
  maximum,
  minimum,
  mul,
  neg,
  sign,
  sub,
  expand,
  expandLike,
  expandLikeOp,
  expandOp,
  sumTo,
  sumToOp,
  cast,
  casting,
  counting,
  copy,
  literal,
  add_,
  addcdiv_,
  addcmul_,
  copy_,
  fill_,
  inferTarget,
  intoTarget,
  mul_,
  numberIntoTarget,
  fullOp,
  narrowGradOp,
  narrowOp,
  permuteOp,
  viewLikeOp,
  viewOp,
];
