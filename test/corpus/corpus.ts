/** How a function of the corpus is written down, with what capturing it must come to. */

import type { BreakReason } from '../../src/traces/graph-break.ts';
import type { CorpusWorld } from './differential.ts';

export interface CorpusFunction {
  readonly name: string;
  /** Everything the function can reach, made anew. */
  readonly make: () => CorpusWorld;
  /** 4 when left out. */
  readonly calls?: number;
  /** Graphs and breaks after all calls. */
  readonly expected: {
    readonly graphs: number;
    /** Graphs with `capture: 'auto'`, where more than these: a branch on what each call changes runs in a graph. */
    readonly graphsInAuto?: number;
    /** Breaks that lie in what the function does: it prints, it reads values. */
    readonly breaks?: readonly BreakReason[];
    /** Breaks that a better tracer would not need. */
    readonly unexpected?: readonly BreakReason[];
    /** The function drops tensors, or makes some natively, that only the garbage collector gives back. */
    readonly garbage?: true;
  };
}
