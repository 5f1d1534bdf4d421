import { resolved, specialized } from './unions.ts';
import type { Variable } from './variable.ts';

interface Arguments {
  readonly args: readonly Variable[];
}

/**
 * Specializes union arguments of a native function that inspects its arguments, so that the call is traced once
 * per option.
 */
export function withSpecializedArguments<C extends Arguments>(fn: unknown, call: C): C {
  const isKnown = call.args.every((arg) => resolved(arg).kind !== 'union');
  if (isKnown || typeof fn !== 'function' || keepsArguments.has(fn)) return call;
  const isNative = Function.prototype.toString.call(fn).endsWith('[native code] }');
  return isNative ? { ...call, args: call.args.map(specialized) } : call;
}

/** Native functions that store their arguments without inspecting them. */
const keepsArguments: ReadonlySet<unknown> = new Set<unknown>([
  Array.prototype.push,
  Array.prototype.unshift,
  Array.prototype.fill,
  Array.of,
  Map.prototype.set,
]);
