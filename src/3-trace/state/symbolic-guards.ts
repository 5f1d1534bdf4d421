/** A trace's guards on symbolic numbers, and the comparisons that bounds on sizes decide without a guard. */

import { numberKey, numberSources } from '../../guards/number-expr.ts';
import { decidedByBounds, rangeOf } from '../../guards/number-range.ts';
import { dimSource, type Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { isSize } from '../inputs/symbolic.ts';
import type { SymbolicVariable } from '../variables/variable.ts';
import type { Tracer } from './tracer.ts';

/** Where a size of a pre-existing tensor is read: dimensions that the bounds declare equal at one place. */
export function sizeSource(t: Tracer, tensor: Source, dim: number): Source {
  const source = dimSource(tensor, dim);
  return t.bounds.get(sourceKey(source))?.place ?? source;
}

/** A guard that each number the expression is computed from is one. */
export function guardNumbers(t: Tracer, { expr }: SymbolicVariable): void {
  for (const source of numberSources(expr)) {
    if (t.sizes.isKey(source) && isSize(source)) continue;
    t.guard(`typeof ${sourceKey(source)}`, { kind: 'typeof', source, type: 'number' });
  }
}

/** A guard that the number, or the comparison, has its present value: where no bounds say so already. */
export function guardValue(t: Tracer, variable: SymbolicVariable): number | boolean {
  const { expr, value, source } = variable;
  if (decidedByBounds(expr, t.bounds) === value) return value;
  if (source) t.guard(`value ${sourceKey(source)}`, { kind: 'value', source, value });
  else t.guard(`number ${numberKey(expr)}`, { kind: 'number', expr, value });
  return value;
}

/** For all sizes within the bounds. */
export function isPositive(t: Tracer, { expr }: SymbolicVariable): boolean {
  const range = rangeOf(expr, t.bounds);
  return range !== undefined && range.low > 0;
}
