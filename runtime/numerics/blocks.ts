/**
 * The order in which kernels compute long sums. It is part of an op's semantics, because another order rounds
 * differently: code that computes a sum in several steps must end each step at a block boundary.
 */

/** Matrix products sum this many adjacent products along the inner dimension before adding them to the rest. */
export const productBlock = 256;

/** Sums combine this many elements, then this many of the results, then all of theirs. */
export const sumBlock = 64;
