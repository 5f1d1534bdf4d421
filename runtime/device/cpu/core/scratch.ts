import { pageBytes } from './heap.ts';

/**
 * Fixed locations in a thread's part of the heap's start, used by one kernel call at a time: contents don't persist
 * between calls. Sizes are constants, independent of tensor sizes. For the program's own thread, which has the first
 * part, these are addresses; on other threads, kernels add the start of their part (`scratchBase`).
 */

/** Arguments of kernels with many: addresses, strides and attributes, four bytes each. */
export const argumentsAt = 64;
export const argumentsBytes = 4096 - 64;

/** A tile of results at the edge of a matrix. */
export const tileAt = 4096;
/**
 * Counters, on this thread, of products with an unpacked second factor and of packers that read whole cache lines: the
 * only contents that persist between calls.
 */
export const unpackedCountAt = 8184;
export const linesCountAt = 8188;
/** Offset tables of a convolution block: the rows and columns of its patches, and its weights. */
export const rowTableAt = 8192;
export const columnTableAt = 12288;
export const weightLaneTableAt = 16384;
/** Packed panels of a matrix product; one of A has 132 rows plus what its packer writes past the last one. */
export const panelAAt = 32768;
export const panelABytes = 132 * 1024 + 64;
export const panelBAt = panelAAt + panelABytes;
export const panelBBytes = 512 * 1024;
/** The padded part of an image that a convolution block reads. */
export const imageAt = panelBAt + panelBBytes;
export const imageBytes = 32 * pageBytes - imageAt;
/** A block of non-contiguous results: rows of one product block by positions. */
export const outTileAt = imageAt + imageBytes;
