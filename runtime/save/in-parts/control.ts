/** Compiles control ops. Pages load this module with the first program that has any. */

export { compileControl } from '../../run-program/control/compile-control.ts';
