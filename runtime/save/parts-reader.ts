/** Reads programs. Pages load this module with the first program. */

export { needsBytes, readProgram } from './program-format.ts';
