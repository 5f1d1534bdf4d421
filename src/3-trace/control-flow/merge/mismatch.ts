import { formatPosition, type UserPosition } from '../../../../runtime/errors/position.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { writes } from '../../../vm/bytecode/effects.ts';
import { isPolyfill } from '../../builtins/polyfills/codes.ts';
import { isFrameworkFile } from '../../state/framework-files.ts';
import type { Location } from '../../state/location.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { PathEnd } from '../plans/path.ts';
import { Mismatch } from './build-structure.ts';

/** The position of each path, for errors. */
type Positions = () => readonly (UserPosition | undefined)[];

/**
 * Converts a Mismatch to a graph break that names the variable and the positions at which the paths assigned it. `body`
 * receives a function that formats this message for later use.
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

/** Returns the break for a value that differs between paths and can't be merged. */
export function unmergeable(what: string, positions: ReturnType<Positions>): GraphBreak {
  return asMerge(new GraphBreak('branch-effect', what + linesOf(positions)));
}

const asMerge = (error: GraphBreak): GraphBreak => Object.assign(error, { atMerge: true });

function linesOf(positions: ReturnType<Positions>): string {
  const lines = positions.flatMap((at) => (at ? [formatPosition(at)] : []));
  return lines.length > 0 ? ` (${[...new Set(lines)].join(' and ')})` : '';
}

/**
 * Returns where a path assigned the location. For a register, that is the nearest preceding instruction that writes it,
 * possibly before the decision; for other locations, the path's last line.
 */
export function assignmentPosition(
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
