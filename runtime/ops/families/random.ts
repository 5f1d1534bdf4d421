/** Random numbers. */

import { normalOp, uniformOp } from '../random/drawn.ts';

export const randomOps = [normalOp, uniformOp];
