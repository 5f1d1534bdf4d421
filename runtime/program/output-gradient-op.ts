import { sameElements } from './alias-op.ts';

/**
 * In a backward program: the complete gradient of an output that other outputs of the same program depend on.
 * Attr `outputs`: the numbers of the output. Here a hook outside may read the gradient, or replace it.
 */
export const outputGradientOp = sameElements('outputGradient');
