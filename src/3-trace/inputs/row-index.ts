/** The index of the element for which an iteration is traced once for all elements of an array. */

import { type NumberExpr, numberSources } from '../../guards/number-expr.ts';
import type { Source } from '../../guards/source.ts';
import type { SymbolicVariable } from '../variables/variable.ts';

/** Stands for the index in expressions. It has no value: each iteration puts its own number there. */
const rowIndex: Source = { kind: 'held', value: {}, name: 'the index of an element' };

const rowIndexExpr: NumberExpr = { kind: 'source', source: rowIndex };

export function dependsOnRow(expr: NumberExpr): boolean {
  for (const source of numberSources(expr)) if (source === rowIndex) return true;
  return false;
}

/** Returns the expression for the index `row`. */
export function atRow(expr: NumberExpr, row: NumberExpr): NumberExpr {
  if (expr.kind === 'source') return expr.source === rowIndex ? row : expr;
  if (expr.kind !== 'apply' || !dependsOnRow(expr)) return expr;
  return { ...expr, args: expr.args.map((arg) => atRow(arg, row)) };
}

/** A number that differs from one iteration to the next by the same integer. */
export interface Counter {
  readonly start: number;
  readonly step: number;
}

/** Returns the counter in an iteration. `row`: the index, `at`: its value. */
export function countedBy(
  { start, step }: Counter,
  at: number,
  row: NumberExpr = rowIndexExpr,
): SymbolicVariable {
  const scaled = step === 1 ? row : applied('*', row, step);
  const expr = start === 0 ? scaled : applied('+', scaled, start);
  return { kind: 'symbolic', expr, value: start + step * at, source: null };
}

function applied(fn: string, left: NumberExpr, value: number): NumberExpr {
  return { kind: 'apply', fn, args: [left, { kind: 'constant', value }] };
}

/** Returns the expression as a counter; undefined if it is none. */
export function asCounter(expr: NumberExpr): Counter | undefined {
  if (expr.kind === 'constant') return { start: expr.value, step: 0 };
  if (expr.kind === 'source') return expr.source === rowIndex ? { start: 0, step: 1 } : undefined;
  if (expr.kind !== 'apply' || expr.args.length !== 2) return undefined;
  const [a, b] = expr.args.map(asCounter);
  if (!a || !b) return undefined;
  if (expr.fn === '+') return { start: a.start + b.start, step: a.step + b.step };
  if (expr.fn === '-') return { start: a.start - b.start, step: a.step - b.step };
  if (expr.fn !== '*' || (a.step !== 0 && b.step !== 0)) return undefined;
  return { start: a.start * b.start, step: a.step * b.start + a.start * b.step };
}
