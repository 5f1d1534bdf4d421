/** Codes of 8 bits for blocks of float32 values. */

/**
 * The numbers that the 256 codes represent, as shares of the largest magnitude of a block. `linear`: equal steps from
 * −1 to 1. `signed` and `unsigned`: seven decades, each with twice as many steps as the one below, so that small values
 * keep their relative size (the dynamic code of Dettmers et al., "8-bit Optimizers via Block-wise Quantization", 2022).
 */
export type QuantizationCode = 'linear' | 'signed' | 'unsigned';

/** Neighbouring elements of one scale. */
export const blockSize = 128;
