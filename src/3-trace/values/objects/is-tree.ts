import type { Tracer } from '../../state/tracer.ts';
import { resolved } from '../../variables/unions.ts';
import type { Variable } from '../../variables/variable.ts';

/**
 * Whether the value holds no object inside of itself, and nothing that is a built-in object:
 * those are left to the native function, with its words for the error.
 */
export function isTree(t: Tracer, given: Variable | undefined): boolean {
  return given === undefined || holdsNoCycle(t, given, new Set());
}

function holdsNoCycle(t: Tracer, given: Variable, around: ReadonlySet<object>): boolean {
  const variable = resolved(given);
  switch (variable.kind) {
    case 'constant':
    case 'symbolic':
    case 'scalar':
    case 'text':
    case 'closure':
    case 'bound':
    case 'function':
      return true;
    case 'newArray':
    case 'newObject': {
      if (variable.kind === 'newArray' && variable.grown) return false;
      if (variable.kind === 'newObject' && variable.errorType) return false;
      if (around.has(variable)) return false;
      const parts = variable.kind === 'newArray' ? variable.elements : variable.entries.values();
      return [...parts].every((part) => holdsNoCycle(t, part, new Set([...around, variable])));
    }
    case 'newCollection':
      return true;
    case 'newHost':
      return variable.type !== null;
    case 'object':
      return isOuterTree(variable.value, new Set());
    default:
      return false;
  }
}

/** Whether the object is a tree now; what the trace has put into it is guarded like every read. */
function isOuterTree(value: unknown, around: ReadonlySet<object>): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (around.has(value) || isBoxed(value)) return false;
  const inner = new Set([...around, value]);
  return Object.values(Object.getOwnPropertyDescriptors(value)).every((own) =>
    isOuterTree(own.value, inner),
  );
}

const isBoxed = (value: object): boolean =>
  value instanceof Number ||
  value instanceof String ||
  value instanceof Boolean ||
  ArrayBuffer.isView(value);
