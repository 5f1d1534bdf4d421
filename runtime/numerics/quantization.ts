/** 8-bit codes for blocks of float32 values. */

/**
 * The numbers that the 256 codes represent, relative to a block's largest magnitude. `linear`: equal steps from −1
 * to 1. `signed` and `unsigned`: seven decades, each with twice as many steps as the one below, so that small
 * values keep their relative precision (the dynamic code of Dettmers et al., "8-bit Optimizers via Block-wise
 * Quantization", 2022).
 */
export type QuantizationCode = 'linear' | 'signed' | 'unsigned';

/** The number of adjacent elements that share a scale. */
export const blockSize = 128;
