/** How far a trace goes before its graph ends. */

import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from './tracer.ts';

/** Calls that wait for others: of each, a break keeps the frame. */
const maxDepth = 1024;
/** Limit of nesting: tracing inside an instruction, or one of several paths, takes stack of JavaScript's. */
const maxNested = 64;

/** The option `traceLimit` ends the graph: a long JavaScript loop was unrolled, for instance. */
export function tooLong(t: Tracer, limit: number): GraphBreak {
  const condition = t.control.tensorConditions.describe(t.frames);
  const why = `more than ${limit} instructions (traceLimit)`;
  return new GraphBreak('trace-length', condition ? `${why}; ${condition}` : why);
}

export function expectDepth(calls: number): void {
  if (calls >= maxDepth) throw new GraphBreak('call-depth', `more than ${maxDepth} calls`);
}

/** Getters, callbacks of native functions, and branches and loops of the program, one inside the other. */
export function expectNesting(nested: number): void {
  if (nested < maxNested) return;
  throw new GraphBreak(
    'call-depth',
    `more than ${maxNested} calls inside instructions or branches`,
  );
}
