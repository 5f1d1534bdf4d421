/** Arrays made inside and arrays from outside, read the same way. */

import { sourceKey } from '../guards/source.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import type { Tracer } from './tracer.ts';
import {
  type NewArrayVariable,
  newArray,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from './variable.ts';

export type ArrayVariable = NewArrayVariable | ObjectVariable;

/** The language's own iteration of arrays, as it was when this module was loaded. */
const pristineValues = Array.prototype[Symbol.iterator];

/** The array behind an iterable, if iterating it is known to walk its elements. */
export function iterableArray(t: Tracer, variable: Variable): ArrayVariable {
  const array = asArray(t, variable);
  const iterate =
    array?.kind === 'object' ? (array.value as unknown[])[Symbol.iterator] : pristineValues;
  if (array && iterate === pristineValues) return array;
  throw new GraphBreak('unsupported-iterable', `a ${variable.kind} is iterated`);
}

/** The variable as an array, or undefined when it is none. */
export function asArray(t: Tracer, variable: Variable): ArrayVariable | undefined {
  if (variable.kind === 'newArray') return variable;
  if (variable.kind !== 'object' || !Array.isArray(variable.value)) return undefined;
  const { source } = variable;
  t.guard(`array ${sourceKey(source)}`, { kind: 'array', source });
  return variable;
}

export function arrayLength(t: Tracer, array: ArrayVariable): number {
  if (array.kind === 'newArray') return array.elements.length;
  const { length } = array.value as readonly unknown[];
  const variable = t.read({ kind: 'property', base: array.source, key: 'length' }, length);
  return t.constantOf(variable) as number;
}

export function arrayElement(t: Tracer, array: ArrayVariable, index: number): Variable {
  if (array.kind === 'newArray') return array.elements[index] ?? undefinedVariable;
  const value = (array.value as readonly unknown[])[index];
  return t.read({ kind: 'property', base: array.source, key: String(index) }, value);
}

export function arrayElements(t: Tracer, array: ArrayVariable): Variable[] {
  return Array.from({ length: arrayLength(t, array) }, (_, i) => arrayElement(t, array, i));
}

/** A copy made inside. */
export function copyOf(t: Tracer, array: ArrayVariable): NewArrayVariable {
  return newArray(arrayElements(t, array));
}
