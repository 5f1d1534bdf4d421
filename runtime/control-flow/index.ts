/** Control flow as functions, for eager execution and programs. */

export { cond } from './cond.ts';
export type { Condition } from './condition.ts';
export { map, scan } from './scan.ts';
export { whileLoop } from './while-loop.ts';
