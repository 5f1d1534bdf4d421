import { hostTypeOf } from '../../../guards/host-types.ts';
import { isProxy } from '../../../guards/plain.ts';
import { isWeak } from '../../heap/collections.ts';
import type { Tracer } from '../../state/tracer.ts';
import { resolved } from '../../variables/unions.ts';
import { absent, prototypeOf, type Variable } from '../../variables/variable.ts';

/**
 * Returns whether `structuredClone` turns the value into plain objects, arrays, Maps, Sets, dates and primitives.
 * Anything else, such as a function or a tensor, is left to the native function.
 */
export function isCloneable(t: Tracer, variable: Variable | undefined): boolean {
  return variable !== undefined && isPlain(t, variable, new Set());
}

function isPlain(t: Tracer, argument: Variable, seen: Set<unknown>): boolean {
  const variable = resolved(argument);
  if (variable === absent || seen.has(variable)) return true;
  seen.add(variable);
  switch (variable.kind) {
    case 'constant':
    case 'symbolic':
      return typeof variable.value !== 'symbol';
    case 'newArray':
      if (variable.growable || variable.named || variable.isArguments || variable.own) return false;
      return variable.elements.every((element) => isPlain(t, element, seen));
    case 'newObject':
      if (variable.errorType || variable.traits || prototypeOf(variable)) return false;
      return [...variable.entries.values()].every((part) => isPlain(t, part, seen));
    case 'newCollection':
      if (isWeak(variable) || variable.own) return false;
      return [...variable.entries.values()].every(
        ({ key, value }) => isPlain(t, key, seen) && isPlain(t, value, seen),
      );
    case 'newHost':
      return variable.type === 'Date';
    case 'object':
      return isPlainOuter(t, variable.value, seen);
    default:
      return false;
  }
}

/**
 * Returns whether the object is currently cloneable, including values that the trace put into it. Reading its values
 * adds guards.
 */
function isPlainOuter(t: Tracer, value: unknown, seen: Set<unknown>): boolean {
  if (typeof value === 'function' || typeof value === 'symbol') return false;
  if (typeof value !== 'object' || value === null || seen.has(value)) return true;
  if (isProxy(value)) return false;
  seen.add(value);
  for (const part of t.effects.putInto(value)) if (!isPlain(t, part, seen)) return false;
  const parts = Object.values(Object.getOwnPropertyDescriptors(value));
  if (!parts.every((item) => 'value' in item && isPlainOuter(t, item.value, seen))) return false;
  const above: unknown = Object.getPrototypeOf(value);
  if (above === Map.prototype) {
    return [...(value as Map<unknown, unknown>)]
      .flat()
      .every((each) => isPlainOuter(t, each, seen));
  }
  if (above === Set.prototype) {
    return [...(value as Set<unknown>)].every((each) => isPlainOuter(t, each, seen));
  }
  if (above === Date.prototype) return hostTypeOf(value) === 'Date';
  return above === Object.prototype || above === Array.prototype || above === null;
}
