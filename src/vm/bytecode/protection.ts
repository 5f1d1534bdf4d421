import type { Code } from './code.ts';
import type { Pc, Reg } from './instructions.ts';

/**
 * Instructions of a `try`: a throw by one of [start, end) continues at `target`, with what was thrown in
 * `error`. `error` is the lowest temporary of its try statement: iterators in the registers above it
 * were opened inside, and are closed first. The thrower's own `dst` is left as it was.
 */
export interface ProtectedRegion {
  readonly start: Pc;
  readonly end: Pc;
  readonly target: Pc;
  readonly error: Reg;
}

/**
 * The region around an instruction; undefined: a throw leaves the frame. Regions are disjoint: around
 * an inner `try` the outer one is split, so where a throw goes follows from the pc alone and a
 * suspended frame needs no stack of handlers.
 */
export function protectionAt(code: Code, pc: Pc): ProtectedRegion | undefined {
  const { regions } = code;
  let low = 0;
  let high = regions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (regions[middle]!.end <= pc) low = middle + 1;
    else high = middle;
  }
  const region = regions[low];
  return region && region.start <= pc ? region : undefined;
}
