import { formatPosition, type UserPosition } from '../../../../runtime/errors/position.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { writes } from '../../../vm/bytecode/effects.ts';
import { isPolyfill } from '../../builtins/polyfills/codes.ts';
import { isFrameworkFile } from '../../state/framework-files.ts';
import type { Location } from '../../state/location.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { PathEnd } from '../plans/path.ts';
import { Mismatch } from './build-structure.ts';

/** The branch that each path took, for errors. */
type Positions = () => readonly (UserPosition | undefined)[];

/**
 * Says which variable two paths leave different, and where each of them got it; `body` gets how to say it
 * for when that matters later.
 */
export function differing<T>(
  name: string,
  positions: Positions,
  body: (tell: (how: string) => string) => T,
): T {
  const tell = (how: string) => `${name} is ${how}${linesOf(positions())}`;
  try {
    return body(tell);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw asMerge(new GraphBreak('branch-mismatch', tell(error.message)));
  }
}

/** A value that differs between paths and cannot be merged. */
export function unmergeable(what: string, positions: ReturnType<Positions>): GraphBreak {
  return asMerge(new GraphBreak('branch-effect', what + linesOf(positions)));
}

const asMerge = (error: GraphBreak): GraphBreak => Object.assign(error, { atMerge: true });

function linesOf(positions: ReturnType<Positions>): string {
  const lines = positions.flatMap((at) => (at ? [formatPosition(at)] : []));
  return lines.length > 0 ? ` (${[...new Set(lines)].join(' and ')})` : '';
}

/**
 * Where a path gave the location its value: of a register the nearest instruction above the path's end that
 * writes it, which may stand before the decision; of any other location the last line of the path.
 */
export function givenAt(
  { closure: { code }, pc }: TraceFrame,
  { register }: Pick<Location, 'register'>,
  { last = pc, at }: PathEnd,
): UserPosition | undefined {
  if (register === null || isFrameworkFile(code.source.file) || isPolyfill(code)) return at;
  for (let above: number = last; above >= 0; above--) {
    if (writes(code.instructions[above]!) !== register) continue;
    const span = code.spans[above];
    return span && code.source.position(span.start);
  }
  return at;
}
