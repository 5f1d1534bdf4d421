import { sameElements } from './alias-op.ts';

/**
 * In a backward program, the complete gradient of an output that other outputs of the program depend on. Attr
 * `outputs` are the output indices. Here an external hook may read or replace the gradient.
 */
export const outputGradientOp = sameElements('outputGradient');
