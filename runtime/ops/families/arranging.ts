/** Views, and copies that move elements. */

import { catOp } from '../movement/joining.ts';
import { asStridedOp, placeIntoOp, placeOp } from '../movement/place.ts';
import { arangeOp } from '../movement/ranges.ts';
import { diagonalOp, sliceOp } from '../movement/views.ts';
import { unfoldGradOp, unfoldOp } from '../movement/windows.ts';

export const arrangingOps = [
  arangeOp,
  asStridedOp,
  catOp,
  diagonalOp,
  placeIntoOp,
  placeOp,
  sliceOp,
  unfoldGradOp,
  unfoldOp,
];
