/** The reader of programs, for pages that load it with the first one. */

export { needsBytes, readProgram } from './program-format.ts';
