import type { Cursor, Width } from './elements.ts';
import type { FunctionBuilder } from './function-builder.ts';

/**
 * Whether the engine joins pairs of adjacent 128-bit vectors into 256-bit ones, as `init('cpu', { revectorize: true })`
 * requests: then product tiles have twice as many columns and loops over elements compute two vectors per iteration.
 */
export const wideVectors: {
  areUsed: boolean;
  /** Returns the cursors of the following vector; undefined if elements are not adjacent. */
  next?: (
    f: FunctionBuilder,
    cursors: readonly Cursor[],
    width: Width,
  ) => readonly Cursor[] | undefined;
} = { areUsed: false };
