import { scalarFunctions } from '../../../runtime/ops/numbers/scalar-functions.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import { isSize } from './symbolic.ts';

/** Returns the function of the numbers; a constant if they are constants. */
export function appliedTo(fn: string, ...args: readonly NumberExpr[]): NumberExpr {
  const values = args.flatMap((arg) => (arg.kind === 'constant' ? [arg.value] : []));
  if (values.length === args.length) {
    return { kind: 'constant', value: Number(scalarFunctions.get(fn)!(...values)) };
  }
  const [first, second] = args;
  if (fn === '-' && first && isCount(second)) return appliedTo('+', first, constant(-second.value));
  // Counts of elements that are pushed one by one: (n + 1) + 1 is n + 2.
  if (fn === '+' && isCount(second) && first?.kind === 'apply' && first.fn === '+') {
    const [base, added] = first.args;
    if (base && isCount(added) && isWhole(base)) {
      return appliedTo('+', base, constant(added.value + second.value));
    }
  }
  return { kind: 'apply', fn, args };
}

export const constant = (value: number): NumberExpr => ({ kind: 'constant', value });

/** Whether the number is an integer, so that sums of it and counts are exact in any order. */
export function isWhole(expr: NumberExpr): boolean {
  switch (expr.kind) {
    case 'source':
      return isSize(expr.source);
    case 'size':
      return true;
    case 'constant':
      return isCount(expr);
    case 'apply':
      return (
        expr.fn === 'Math.ceil' ||
        expr.fn === 'Math.floor' ||
        (wholeOfWhole.has(expr.fn) && expr.args.every(isWhole))
      );
  }
}

const wholeOfWhole: ReadonlySet<string> = new Set(['+', '-', '*', 'Math.max', 'Math.min']);

function isCount(expr: NumberExpr | undefined): expr is NumberExpr & { readonly kind: 'constant' } {
  return expr?.kind === 'constant' && Number.isSafeInteger(expr.value);
}
