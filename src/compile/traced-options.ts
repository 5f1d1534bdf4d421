import { passNames } from '../5-optimize/passes.ts';
import type { CompileOptions } from './compilation.ts';

/**
 * For calls in which an input is written whose memory another input shows: every op runs where it was traced. Passes
 * and orders take inputs for memory of their own, and so would a user's backend. Strided inputs are read in place, as
 * a copy wouldn't see what is written through the other input.
 */
export function tracedOptions({ memory, verify }: CompileOptions): CompileOptions {
  const asTraced = {
    order: false,
    simplify: false,
    slices: false,
    minimizeSaved: false,
    savedMasks: false,
    savedPlaces: false,
    recomputeScores: false,
    compactViews: false,
    donate: false,
    stridedInputs: true,
    budget: null,
    savedDtype: null,
    offload: null,
  };
  const without = new Set(passNames);
  return { memory: { ...memory, ...asTraced }, without, verify, tier: 'final' };
}
