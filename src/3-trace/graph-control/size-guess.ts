import type { NumberExpr } from '../../guards/number-expr.ts';
import { isSize } from '../symbolic.ts';
import { PutOff } from '../tape.ts';
import type { Tracer } from '../tracer.ts';

/** Multiples and differences that layers make of a size. */
const factors = [2, 3, 4, 5, 6, 8];
const differences = [1, -1, 2, -2, 3, -3, 4, -4];

/**
 * A size, or a stride, of a value that is nowhere yet, in terms of the sizes that the arguments have: of one that is
 * the same, or of one that it is a multiple of or close to. Whether other sizes fit is seen when the program is
 * built for them; where they don't, they are a trace of their own.
 */
export function sizeGuess(t: Tracer, size: number): PutOff | number {
  if (size <= 1) return size;
  const open = [...t.sizes.keys.values()].filter(isSize).map((source) => {
    const expr: NumberExpr = { kind: 'source', source };
    return { expr, value: Number(t.numbers.value(expr)) };
  });
  const of = (fn: string, expr: NumberExpr, value: number): PutOff =>
    new PutOff({ kind: 'apply', fn, args: [expr, { kind: 'constant', value }] });
  const same = open.find(({ value }) => value === size);
  if (same) return new PutOff(same.expr);
  for (const { expr, value } of open) {
    const factor = factors.find((each) => value > 1 && value * each === size);
    if (factor) return of('*', expr, factor);
  }
  for (const { expr, value } of open) {
    const difference = differences.find((each) => value + each === size);
    if (difference) return of('+', expr, difference);
  }
  return size;
}
