/** Control flow as functions, usable eagerly and inside programs. */

export { cond } from './cond.ts';
export type { Condition } from './condition.ts';
export { map, scan } from './scan.ts';
export { whileLoop } from './while-loop.ts';
