/** Matrix products. */

import { addMatmulOp, matmulOp } from '../products/matmul.ts';

export const productsOps = [addMatmulOp, matmulOp];
