import type { Tracer } from '../../state/tracer.ts';
import { asArray } from '../../values/arrays.ts';
import { isObjectVariable, prototypeVariable } from '../../values/objects/prototype-variable.ts';
import { plainEntries } from '../../values/property-keys.ts';
import { specialized } from '../../variables/unions.ts';
import { newArray, undefinedVariable, type Variable } from '../../variables/variable.ts';
import { mayBeTensor } from './option-checks.ts';

/** `tensorsIn(value)` as an array: modules use it to register backward hooks on all outputs. */
export function traceTensorsIn(
  t: Tracer,
  _receiver: Variable,
  [value = undefinedVariable]: readonly Variable[],
): Variable {
  const seen = new Set<Variable>();
  const tensors: Variable[] = [];
  const visit = (variable: Variable): void => {
    const each = specialized(variable);
    if (!isObjectVariable(each) || seen.has(each)) return;
    seen.add(each);
    if (mayBeTensor(t, each)) tensors.push(each);
    else if (isPlain(t, each)) for (const entry of plainEntries(t, each)) visit(entry.value);
  };
  visit(value);
  return newArray(tensors);
}

function isPlain(t: Tracer, object: Variable): boolean {
  if (object.kind === 'newArray' || asArray(t, object)) return true;
  if (object.kind !== 'object' && object.kind !== 'newObject') return false;
  const above = prototypeVariable(t, object);
  return above.kind === 'object' ? above.value === Object.prototype : above.kind === 'constant';
}
