import type { Cursor, Width } from './elements.ts';
import type { FunctionBuilder } from './function-builder.ts';

/**
 * Whether the engine joins pairs of adjacent vectors of 128 bits into one of 256, which `init('cpu', { revectorize:
 * true })` asks it to: then tiles of a product have twice as many columns, and loops over elements compute two vectors in
 * each iteration.
 */
export const wideVectors: {
  areUsed: boolean;
  /** The cursors of the vector after that of others; undefined where elements don't lie next to each other. */
  next?: (
    f: FunctionBuilder,
    cursors: readonly Cursor[],
    width: Width,
  ) => readonly Cursor[] | undefined;
} = { areUsed: false };
