/** Reads programs. Pages load this module with the first program. */

export { controlOps } from '../../program/control-ops.ts';
export { provideParts } from '../../run-program/later-parts.ts';
export { needsBytes, readProgram } from '../program-format.ts';
