import { invariant } from '../errors/invariant.ts';
import type { compileControl } from './control/compile-control.ts';
import type { runBackward } from './run-backward.ts';

/** Parts that some programs need: `tostatic/load` loads each with the first program that does. */
interface LaterParts {
  /** For programs with control ops. */
  readonly compileControl: typeof compileControl;
  /** For programs with a backward. */
  readonly runBackward: typeof runBackward;
}

const provided: Partial<LaterParts> = {};

/** Provides parts for all programs. Called by whatever makes or loads programs. */
export function provideParts(parts: Partial<LaterParts>): void {
  Object.assign(provided, parts);
}

export function laterPart<N extends keyof LaterParts>(name: N): LaterParts[N] {
  const part = provided[name];
  invariant(part, `${name} is provided by what makes or loads a program`);
  return part;
}
