import { resolved, specialized } from './unions.ts';
import type { Variable } from './variable.ts';

interface Arguments {
  readonly args: readonly Variable[];
}

/** A native function that looks at its arguments is called for each option of a union. */
export function withSpecializedArguments<C extends Arguments>(fn: unknown, call: C): C {
  const isKnown = call.args.every((arg) => resolved(arg).kind !== 'union');
  if (isKnown || typeof fn !== 'function' || keepsArguments.has(fn)) return call;
  const isNative = Function.prototype.toString.call(fn).endsWith('[native code] }');
  return isNative ? { ...call, args: call.args.map(specialized) } : call;
}

/** Functions that put their arguments somewhere as they are. */
const keepsArguments: ReadonlySet<unknown> = new Set<unknown>([
  Array.prototype.push,
  Array.prototype.unshift,
  Array.prototype.fill,
  Array.of,
  Map.prototype.set,
]);
