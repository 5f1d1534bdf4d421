/** Arrays made inside and arrays from outside, read the same way. */

import { isPlainArray, isProxy, readsPlainly } from '../guards/plain.ts';
import { sourceKey } from '../guards/source-key.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import { constantOf, sourceOf } from './facts.ts';
import type { Tracer } from './tracer.ts';
import {
  type NewArrayVariable,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from './variable.ts';

export type ArrayVariable = NewArrayVariable | ObjectVariable;

/** The array behind an iterable, if iterating it is known to walk its elements. */
export function iterableArray(t: Tracer, variable: Variable): ArrayVariable {
  const array = asArray(t, variable);
  if (array) return array;
  throw new GraphBreak('unsupported-iterable', `a ${variable.kind} is iterated`);
}

/** The variable as an array of the language's own kind, or undefined when it is none. */
export function asArray(t: Tracer, variable: Variable): ArrayVariable | undefined {
  if (variable.kind === 'newArray') return variable;
  if (variable.kind !== 'object') return undefined;
  const { value, source } = variable;
  if (isProxy(value) || !isPlainArray(value)) return undefined;
  t.guard(`plainArray ${sourceKey(source)}`, { kind: 'plainArray', source });
  return variable;
}

/** `Array.isArray(x)` */
export function isArray(t: Tracer, variable: Variable): boolean {
  if (variable.kind === 'newArray') return true;
  const source = sourceOf(variable);
  const isArray = variable.kind === 'object' && Array.isArray(variable.value);
  if (source) t.guard(`isArray ${sourceKey(source)}`, { kind: 'isArray', source, isArray });
  return isArray;
}

/** A key that names an element: `'01'` names an ordinary property. */
export function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d*)$/.test(key);
}

export function arrayLength(t: Tracer, array: ArrayVariable): number {
  if (array.kind === 'newArray') return array.elements.length;
  const { length } = array.value as readonly unknown[];
  const variable = t.read({ kind: 'property', base: array.source, key: 'length' }, length);
  return constantOf(t, variable) as number;
}

export function arrayElement(t: Tracer, array: ArrayVariable, index: number): Variable {
  if (array.kind === 'newArray') return array.elements[index] ?? undefinedVariable;
  const key = String(index);
  const written = t.effects.written(array.value, array.source, key);
  if (written) return written;
  if (!readsPlainly(array.value, key)) throw new GraphBreak('getter', `reading element ${key}`);
  const value = (array.value as readonly unknown[])[index];
  return t.read({ kind: 'property', base: array.source, key }, value);
}

export function arrayElements(t: Tracer, array: ArrayVariable): Variable[] {
  return Array.from({ length: arrayLength(t, array) }, (_, i) => arrayElement(t, array, i));
}

/** The elements for a copy that keeps holes; one with holes is copied natively. */
export function solidElements(t: Tracer, array: ArrayVariable): Variable[] {
  if (array.kind === 'object') {
    const elements = array.value as readonly unknown[];
    for (let i = 0; i < elements.length; i++) {
      if (!(i in elements)) throw new GraphBreak('unsupported-value', 'an array has holes');
    }
  }
  return arrayElements(t, array);
}
