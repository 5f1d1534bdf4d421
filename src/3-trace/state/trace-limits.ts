/** Limits on the extent of a trace, which end its graph. */

import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from './tracer.ts';

/** The maximum number of waiting calls, whose frames a graph break keeps. */
const maxDepth = 1024;
/**
 * The maximum nesting depth: tracing within an instruction, or along one of several paths, uses JavaScript's
 * stack.
 */
const maxNested = 64;

/** Returns the break for an exceeded `traceLimit`, for example after unrolling a long JavaScript loop. */
export function tooLong(t: Tracer, limit: number): GraphBreak {
  const condition = t.control.tensorConditions.describe(t.frames);
  const why = `more than ${limit} instructions (traceLimit)`;
  return new GraphBreak('trace-length', condition ? `${why}; ${condition}` : why);
}

export function expectDepth(calls: number): void {
  if (calls >= maxDepth) throw new GraphBreak('call-depth', `more than ${maxDepth} calls`);
}

/** Limits the nesting of getters, callbacks of native functions, branches and loops. */
export function expectNesting(nested: number): void {
  if (nested < maxNested) return;
  throw new GraphBreak(
    'call-depth',
    `more than ${maxNested} calls inside instructions or branches`,
  );
}
