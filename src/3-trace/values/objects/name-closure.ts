/** Names of functions that the place where they are made gives them. */

import type { Tracer } from '../../state/tracer.ts';
import type { Variable } from '../../variables/variable.ts';

/** `{ [key]: () => … }` and accessors, whose functions are named by the key; others keep their name. */
export function nameClosure(
  t: Tracer,
  closure: Variable,
  key: string | symbol,
  accessor?: 'get' | 'set',
): Variable {
  if (closure.kind !== 'closure') return closure;
  const text =
    typeof key === 'string' ? key : key.description === undefined ? '' : `[${key.description}]`;
  const { name } = closure;
  t.journal.note(() => Object.assign(closure, { name }));
  closure.name = accessor ? `${accessor} ${text}` : text;
  return closure;
}
