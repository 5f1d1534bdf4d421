import type { NumberExpr } from '../../../guards/number-expr.ts';
import { isSize } from '../../inputs/symbolic.ts';
import { DeferredNumber } from '../../state/tape.ts';
import type { Tracer } from '../../state/tracer.ts';

/**
 * Returns a size or stride of a value that doesn't exist yet: an argument's size if an equal one exists. If that guess
 * is wrong, the values don't match for other sizes, which are then traced separately.
 */
export function sizeGuess(t: Tracer, size: number): DeferredNumber | number {
  for (const source of t.sizes.keys.values()) {
    const expr: NumberExpr = { kind: 'source', source };
    if (isSize(source) && t.numbers.value(expr) === size) return new DeferredNumber(expr);
  }
  return size;
}
