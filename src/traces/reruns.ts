import type { Source } from '../guards/source.ts';

/**
 * The reads that eager backward repeats when it reruns the body of a `checkpoint` call of the trace. If they have another
 * result than at the end of the call, backward throws: the program recomputes the values of forward.
 */
export interface Rerun {
  /** The outputs whose gradients flow into the call. */
  readonly outputs: readonly number[];
  readonly sources: readonly Source[];
  /** Pre-existing arrays and collections that the run changes, of which the body may read all. */
  readonly contents: readonly Source[];
  /**
   * Objects that the run creates, with the keys that the body reads; null for arrays and collections, of which it may
   * read all, and for objects whose keys it lists.
   */
  readonly made: readonly { readonly index: number; readonly keys: readonly string[] | null }[];
}
