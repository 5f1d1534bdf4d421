/** Reading and writing at indices. */

import { flipOp, rollOp } from '../arranging/rearrange.ts';
import { gatherGradOp, gatherOp, scatterAddOp, scatterOp } from '../indexing/gather.ts';
import { indexAddOp, indexGradOp, indexOp, indexPutOp } from '../indexing/indexing.ts';

export const indexingOps = [
  flipOp,
  gatherGradOp,
  gatherOp,
  indexAddOp,
  indexGradOp,
  indexOp,
  indexPutOp,
  rollOp,
  scatterAddOp,
  scatterOp,
];
