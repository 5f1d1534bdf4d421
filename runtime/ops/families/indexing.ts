/** Reading and writing at indices. */

import { flipOp, rollOp } from '../arranging/rearrange.ts';
import { gatherGradOp, gatherOp, scatterAddOp, scatterOp } from '../indexing/gather.ts';
import { indexAddOp, indexGradOp, indexOp, indexPutOp } from '../indexing/indexing.ts';

export const indexingOps = [
  flipOp,
  rollOp,
  gatherGradOp,
  gatherOp,
  scatterAddOp,
  scatterOp,
  indexAddOp,
  indexGradOp,
  indexOp,
  indexPutOp,
];
