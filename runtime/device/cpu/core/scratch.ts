import { pageBytes } from './heap.ts';

/**
 * Fixed places in a thread's part of the heap's start, used by one kernel call at a time: a kernel may
 * leave anything there and expects nothing. Sizes are constants, so no tensor size changes them. The
 * thread that runs the program has the first part: for it these are addresses. Kernels that other
 * threads run as well add where their part begins (`scratchBase`).
 */

/** Arguments of kernels that take many: addresses, strides and attributes, four bytes each. */
export const argumentsAt = 64;
export const argumentsBytes = 4096 - 64;

/** A tile of results at the edge of a matrix. */
export const tileAt = 4096;
/**
 * How often products on this thread left their second factor where it lies, and packers read whole cache lines: the only
 * places that later calls expect to be as they were.
 */
export const unpackedCountAt = 8184;
export const linesCountAt = 8188;
/** Offset tables of a block of a convolution: its patches' rows and columns, and its weights'. */
export const rowTableAt = 8192;
export const columnTableAt = 12288;
export const weightLaneTableAt = 16384;
/** Packed panels of a matrix product; one of A has 132 rows and what its packer writes past the last one. */
export const panelAAt = 32768;
export const panelABytes = 132 * 1024 + 64;
export const panelBAt = panelAAt + panelABytes;
export const panelBBytes = 512 * 1024;
/** The padded part of an image that a block of a convolution reads. */
export const imageAt = panelBAt + panelBBytes;
export const imageBytes = 32 * pageBytes - imageAt;
/** A block of results whose places are apart: rows of one block of a product by positions. */
export const outTileAt = imageAt + imageBytes;
