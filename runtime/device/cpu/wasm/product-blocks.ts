import { productBlock } from '../../../numerics/blocks.ts';
import { panelABytes, panelBBytes } from '../core/scratch.ts';

/** Sizes of the blocks: a panel of A stays in the level-2 cache, one of B in the level-1 cache. */
export const blockK = productBlock;
export const blockM = Math.floor(panelABytes / (blockK * 4));
export const blockN = panelBBytes / (blockK * 4);
