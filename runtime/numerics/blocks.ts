/**
 * How kernels order long sums. Part of what an op means, since another order rounds otherwise: code that
 * computes a sum in several steps has to end each of them where a block ends.
 */

/** A product of matrices sums this many neighbours along the inner dimension before they join the rest. */
export const productBlock = 256;

/** A sum takes this many elements, then this many such results, then all of these. */
export const sumBlock = 64;
