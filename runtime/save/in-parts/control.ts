/** Compiles ops with regions. Pages load this module with the first program that has such ops. */

export { compileControl } from '../../run-program/control/compile-control.ts';
