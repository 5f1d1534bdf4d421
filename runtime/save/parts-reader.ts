/** Reads programs; pages load it with the first one. */

export { needsBytes, readProgram } from './program-format.ts';
