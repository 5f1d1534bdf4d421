/** How the threads of a workgroup share a tile of rows × columns. */

/** Threads along rows, and along columns, of a tile. */
export const threadsAcross = 8;
/** All threads of a workgroup. */
export const tileThreads = threadsAcross * threadsAcross;
/** Columns of a tile, each thread has every eighth one. */
export const tileColumns = 32;
export const columnsPerThread = tileColumns / threadsAcross;
/** Steps of a product that are in workgroup memory at a time. */
export const tileDepth = 16;
/** A row of values in workgroup memory; one more than needed, so that rows begin in different banks. */
export const rowPitch = tileColumns + 1;

/**
 * Columns of a result. Each thread keeps its elements of all results in registers: of two results of the gradient, 32 for
 * each of its 4 rows.
 */
export const mostTileColumns = 128;

/** Rows of a tile of which each thread has one or four; a few queries don't fill a larger one. */
export function rowsPerThread(rows: number): 1 | 4 {
  return rows <= threadsAcross ? 1 : 4;
}

/** The numbers from 0 up to, but without, `count`. */
export function upTo(count: number): readonly number[] {
  return [...Array(count).keys()];
}
