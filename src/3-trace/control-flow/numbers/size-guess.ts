import type { NumberExpr } from '../../../guards/number-expr.ts';
import { isSize } from '../../inputs/symbolic.ts';
import { PutOff } from '../../state/tape.ts';
import type { Tracer } from '../../state/tracer.ts';

/**
 * A size, or a stride, of a value that is nowhere yet: that of an argument, where one has the same. Where it isn't,
 * the values of other sizes don't fit together, and these are a trace of their own.
 */
export function sizeGuess(t: Tracer, size: number): PutOff | number {
  for (const source of t.sizes.keys.values()) {
    const expr: NumberExpr = { kind: 'source', source };
    if (isSize(source) && t.numbers.value(expr) === size) return new PutOff(expr);
  }
  return size;
}
