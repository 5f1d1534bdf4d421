/** Elementwise ops by family. Everything exported here is public API. */

export * from '../arithmetic/arithmetic.ts';
export * from '../arithmetic/division.ts';
export * from '../arithmetic/functions.ts';
export * from '../arithmetic/logic.ts';
export type { Operand } from '../core/promotion.ts';
export * from './activations.ts';
export * from './atan2.ts';
export * from './combining.ts';
export * from './comparison.ts';
export * from './other-names.ts';
export * from './pairs.ts';
export * from './powers.ts';
export * from './smooth-activations.ts';
export * from './special.ts';
export * from './thresholds.ts';
