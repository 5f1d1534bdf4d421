import { isAsync } from '../../../../runtime/options/is-async.ts';
import { specialized } from '../../variables/unions.ts';
import type { Variable } from '../../variables/variable.ts';

/** Returns whether a function was written with `async`. */
export function tracedAsync(callee: Variable): boolean {
  const fn = specialized(callee);
  if (fn.kind === 'bound') return tracedAsync(fn.target);
  if (fn.kind === 'closure') return fn.code.isAsync && !fn.code.isGenerator;
  return fn.kind === 'function' && isAsync(fn.value);
}
