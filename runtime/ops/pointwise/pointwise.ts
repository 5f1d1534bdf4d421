/** Ops element by element, by family. Everything exported here is API. */

export type { Operand } from '../core/promotion.ts';
export * from './activations.ts';
export * from './arithmetic.ts';
export * from './combining.ts';
export * from './comparison.ts';
export * from './division.ts';
export * from './functions.ts';
export * from './logic.ts';
export * from './other-names.ts';
export * from './pairs.ts';
export * from './powers.ts';
export * from './smooth-activations.ts';
export * from './special.ts';
export * from './thresholds.ts';
