/** Function names inferred from the place of creation. */

import type { Tracer } from '../../state/tracer.ts';
import type { Variable } from '../../variables/variable.ts';

/** Names the functions of `{ [key]: () => … }` and accessors by the key; other functions keep their name. */
export function nameClosure(
  t: Tracer,
  closure: Variable,
  key: string | symbol,
  accessor?: 'get' | 'set',
): Variable {
  if (closure.kind !== 'closure') return closure;
  const text =
    typeof key === 'string' ? key : key.description === undefined ? '' : `[${key.description}]`;
  t.journal.set(closure, 'name', accessor ? `${accessor} ${text}` : text);
  return closure;
}
