/** Symbolic numbers and predicates on their sources. */

import { numberSources } from '../../guards/number-expr.ts';
import type { Source } from '../../guards/source.ts';
import { rootOf } from '../../guards/source-key.ts';
import type { SymbolicVariable } from '../variables/variable.ts';

export function symbolicFrom(source: Source, value: number): SymbolicVariable {
  return { kind: 'symbolic', expr: { kind: 'source', source }, value, source };
}

/** Whether a number of the expression came out of a graph break. A boolean is guarded regardless of its origin. */
export function comesFromBreak(
  { variables }: { readonly variables: { isBoolean(source: Source): boolean } },
  { expr }: SymbolicVariable,
): boolean {
  for (const source of numberSources(expr)) {
    if (rootOf(source).kind === 'register' && !variables.isBoolean(source)) return true;
  }
  return false;
}

/** Whether the number is computed only from booleans, and so has few values. */
export function isOfBooleans(
  { variables }: { readonly variables: { isBoolean(source: Source): boolean } },
  { expr }: SymbolicVariable,
): boolean {
  return [...numberSources(expr)].every((source) => variables.isBoolean(source));
}

/** True for a size, or a number computed from sizes alone. */
export function isOfSizes({ expr }: SymbolicVariable): boolean {
  return [...numberSources(expr)].every(isSize);
}

/** True for a size of an input tensor, which is always a number. */
export function isSize(source: Source): boolean {
  return isEntryOf('shape', source);
}

/** True for the length of a list or string. */
export function isLength(source: Source): boolean {
  return source.kind === 'property' && source.key === 'length';
}

/** True for a size or stride of an input tensor. */
export function isLayout(source: Source): boolean {
  return isSize(source) || isEntryOf('strides', source);
}

function isEntryOf(list: 'shape' | 'strides', source: Source): boolean {
  return source.kind === 'property' && source.base.kind === 'property' && source.base.key === list;
}
