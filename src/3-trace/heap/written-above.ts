import { isProxy } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from '../state/tracer.ts';
import { guardIdentity } from '../state/value-guards.ts';
import { present } from '../variables/unions.ts';
import type { Variable } from '../variables/variable.ts';
import type { Key } from './made-objects.ts';

/** Returns the property that the trace wrote to a prototype, if that prototype is the first in the chain to have it. */
export function writtenAbove(
  t: Tracer,
  object: object,
  source: Source,
  key: Key,
): Variable | undefined {
  let [below, location] = [object, source];
  while (!isProxy(below) && !Object.hasOwn(below, key)) {
    const above = Object.getPrototypeOf(below) as object | null;
    if (!above) return undefined;
    location = { kind: 'prototypeOf', base: location };
    if (t.effects.isWritten(above)) {
      const written = writtenThere(t, above, location, key);
      if (written) return written;
    }
    below = above;
  }
  return undefined;
}

/** Returns the value that the trace wrote to this prototype. */
export function writtenThere(
  t: Tracer,
  prototype: object,
  source: Source,
  key: Key,
): Variable | undefined {
  const written = t.effects.written(prototype, source, key);
  if (!written) return undefined;
  const value = present(written);
  if (!value) {
    throw new GraphBreak('unsupported-value', `${String(key)} was deleted from a prototype`);
  }
  guardIdentity(t, { kind: 'object', source, value: prototype });
  return value;
}
