import { productBlock } from '../../../numerics/blocks.ts';
import { panelABytes, panelBBytes } from '../core/scratch.ts';

/** Block sizes: a panel of A stays in the L2 cache, a panel of B in the L1 cache. */
export const blockK = productBlock;
export const blockM = Math.floor(panelABytes / (blockK * 4));
export const blockN = panelBBytes / (blockK * 4);
