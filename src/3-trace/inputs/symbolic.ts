/** Symbolic numbers, and where their sources are read. */

import { numberSources } from '../../guards/number-expr.ts';
import type { Source } from '../../guards/source.ts';
import { rootOf } from '../../guards/source-key.ts';
import type { SymbolicVariable } from '../variables/variable.ts';

export function symbolicFrom(source: Source, value: number): SymbolicVariable {
  return { kind: 'symbolic', expr: { kind: 'source', source }, value, source };
}

/** True when a number of the expression came out of a break. */
export function comesFromBreak({ expr }: SymbolicVariable): boolean {
  for (const source of numberSources(expr)) if (rootOf(source).kind === 'register') return true;
  return false;
}

/** A size, or computed from sizes alone. */
export function isOfSizes({ expr }: SymbolicVariable): boolean {
  return [...numberSources(expr)].every(isSize);
}

/** A size of a tensor that is an input: a number in any case. */
export function isSize(source: Source): boolean {
  return isEntryOf('shape', source);
}

/** A size or a stride of a tensor that is an input. */
export function isLayout(source: Source): boolean {
  return isSize(source) || isEntryOf('strides', source);
}

function isEntryOf(list: 'shape' | 'strides', source: Source): boolean {
  return source.kind === 'property' && source.base.kind === 'property' && source.base.key === list;
}
