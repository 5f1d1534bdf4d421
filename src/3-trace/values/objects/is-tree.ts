import type { Tracer } from '../../state/tracer.ts';
import { resolved } from '../../variables/unions.ts';
import type { Variable } from '../../variables/variable.ts';

/**
 * Returns whether the value contains no cycle and no boxed primitive or typed array. Other values are left to the
 * native function, which throws its own error.
 */
export function isTree(t: Tracer, variable: Variable | undefined): boolean {
  return variable === undefined || holdsNoCycle(t, variable, new Set());
}

function holdsNoCycle(t: Tracer, value: Variable, around: ReadonlySet<object>): boolean {
  const variable = resolved(value);
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
      if (variable.kind === 'newArray' && variable.growable) return false;
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

/** Returns whether the object is currently a tree. Values that the trace put into it are guarded like all reads. */
function isOuterTree(value: unknown, around: ReadonlySet<object>): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (around.has(value) || isBoxed(value) || isRawJson(value)) return false;
  const inner = new Set([...around, value]);
  return Object.values(Object.getOwnPropertyDescriptors(value)).every((each) =>
    isOuterTree(each.value, inner),
  );
}

/** Objects created by `JSON.rawJSON`, which print as their text; not in Node 20. */
const isRawJson: (value: object) => boolean = Reflect.get(JSON, 'isRawJSON') ?? (() => false);

const isBoxed = (value: object): boolean =>
  value instanceof Number ||
  value instanceof String ||
  value instanceof Boolean ||
  ArrayBuffer.isView(value);
