import { formatPosition, type UserPosition } from '../../../runtime/errors/position.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { Mismatch } from './build-structure.ts';

/**
 * Says which variable two ways leave different, and where each of them went; `body` gets how to say it
 * for when that matters later.
 */
export function differing<T>(
  name: string,
  places: readonly (UserPosition | undefined)[],
  body: (tell: (how: string) => string) => T,
): T {
  const tell = (how: string) => {
    const lines = places.flatMap((at) => (at ? [formatPosition(at)] : []));
    const where = lines.length > 0 ? ` (${lines.join(' and ')})` : '';
    return `${name} is ${how}${where}`;
  };
  try {
    return body(tell);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw new GraphBreak('control-flow', tell(error.message));
  }
}
