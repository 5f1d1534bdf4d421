/** The distribution of a tile of rows × columns over a workgroup's threads. */

/** The number of threads along the rows, and along the columns, of a tile. */
export const threadsAcross = 8;
/** The number of threads of a workgroup. */
export const tileThreads = threadsAcross * threadsAcross;
/** The number of tile columns; each thread has every eighth. */
export const tileColumns = 32;
export const columnsPerThread = tileColumns / threadsAcross;
/** The number of product steps in workgroup memory at a time. */
export const tileDepth = 16;
/** The row pitch in workgroup memory; one more than needed, so that rows start in different banks. */
export const rowPitch = tileColumns + 1;

/**
 * The maximum number of result columns. Each thread keeps its elements of all results in registers: for the two
 * results of the gradient, 32 for each of its 4 rows.
 */
export const mostTileColumns = 128;

/** Returns the number of tile rows per thread, one or four: a few queries don't fill a larger tile. */
export function rowsPerThread(rows: number): 1 | 4 {
  return rows <= threadsAcross ? 1 : 4;
}

/** Returns the numbers from 0 to `count` − 1. */
export function upTo(count: number): readonly number[] {
  return [...Array(count).keys()];
}
