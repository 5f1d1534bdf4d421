import { passNames } from '../5-optimize/passes.ts';
import type { CompileOptions } from './compilation.ts';

/**
 * Options for calls in which one input is written and another input views the same memory: all ops keep the traced
 * order. Passes, orders and custom backends assume that inputs don't share memory. Strided inputs are read in place,
 * since a copy would miss writes through the other input.
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
