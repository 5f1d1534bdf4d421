import type { Code } from './code.ts';
import type { Pc, Reg } from './instructions.ts';

/**
 * The protected instructions of a `try`: an exception in [start, end) continues at `target`, with the thrown value
 * in `error`. `error` is the lowest temporary of its try statement: iterators in higher registers were opened
 * inside, and are closed first. The throwing instruction's `dst` is unchanged.
 */
export interface ProtectedRegion {
  readonly start: Pc;
  readonly end: Pc;
  readonly target: Pc;
  readonly error: Reg;
}

/**
 * Returns the region around an instruction; undefined if exceptions leave the frame. Regions are disjoint: the
 * outer region is split around an inner `try`, so that the handler follows from the pc alone and a suspended frame
 * needs no handler stack.
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
