/** Limits on the extent of a trace, which end its graph. */

import { GraphBreak } from '../../traces/graph-break.ts';
import type { GraphControl } from './graph-control.ts';
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
export function expectNesting(nested: number, control: GraphControl): void {
  if (nested < maxNested) return;
  const what = `${maxNested} calls inside instructions or branches`;
  if (control.depth > 0 && control.plans.unrolledBecause) throw endless(control, `before ${what}`);
  throw new GraphBreak('call-depth', `more than ${what}`);
}

/** The maximum nesting of decisions: deeper nesting means that a loop that is traced iteration by iteration doesn't end. */
const maxDecisions = 64;

export function expectFewDecisions(control: GraphControl): void {
  if (control.depth >= maxDecisions) throw endless(control, `in ${maxDecisions} iterations`);
}

/** Returns the break for decisions inside one another that don't end: why their loop had to be unrolled. */
function endless({ depth, plans: { unrolledBecause: why } }: GraphControl, limit: string) {
  if (!why) return new GraphBreak('unbounded-loop', `${depth} decisions inside one another`);
  const followed = `followed iteration by iteration, the loop is not left ${limit}`;
  return new GraphBreak(why.reason, `${why.detail}; ${followed}`);
}
