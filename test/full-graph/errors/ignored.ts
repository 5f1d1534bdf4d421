import type { Tensor } from '../../../src/index.ts';

/** In a module that graphs leave alone. */
export const ignored = (x: Tensor): Tensor => x.mul(2);
