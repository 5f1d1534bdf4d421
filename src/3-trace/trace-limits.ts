/** How far a trace goes before its graph ends. */

import { GraphBreak } from '../traces/graph-break.ts';
import type { Tracer } from './tracer.ts';

/** More instructions than this in one trace end the graph: a long loop was unrolled. */
const maxInstructions = 200_000;
const maxDepth = 64;

export function expectMoreInstructions(t: Tracer, followed: number): void {
  if (followed <= maxInstructions) return;
  const condition = t.control.tensorConditions.describe(t.frames);
  throw new GraphBreak(
    'trace-length',
    `more than ${maxInstructions} instructions${condition ? `; ${condition}` : ''}`,
  );
}

export function expectDepth(calls: number): void {
  if (calls >= maxDepth) throw new GraphBreak('call-depth', `more than ${maxDepth} calls`);
}
