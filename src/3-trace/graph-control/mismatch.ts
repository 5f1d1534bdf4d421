import type { UserPosition } from '../../../runtime/errors/position.ts';
import { formatPosition } from '../../../runtime/errors/position.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { Mismatch } from './unify.ts';

/** Says which variable two ways leave different, and where each of them went. */
export function differing<T>(
  name: string,
  places: readonly (UserPosition | undefined)[],
  body: () => T,
): T {
  try {
    return body();
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    const lines = places.flatMap((at) => (at ? [formatPosition(at)] : []));
    const where = lines.length > 0 ? ` (${lines.join(' and ')})` : '';
    throw new GraphBreak('control-flow', `${name} is ${error.message}${where}`);
  }
}
