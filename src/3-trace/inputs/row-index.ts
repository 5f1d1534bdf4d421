/** The index of the element, in an iteration that is traced once for all elements of an array. */

import { scalarFunctions } from '../../../runtime/ops/numbers/scalar-functions.ts';
import { type NumberExpr, numberSources } from '../../guards/number-expr.ts';
import type { Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { SymbolicVariable } from '../variables/variable.ts';
import { isLength, isSize } from './symbolic.ts';

/** Represents the index in expressions. It has no value: each iteration substitutes its own number. */
const rowIndex: Source = { kind: 'held', value: {}, name: 'the index of an element' };

const rowIndexExpr: NumberExpr = { kind: 'source', source: rowIndex };

export function dependsOnRow(expr: NumberExpr): boolean {
  for (const source of numberSources(expr)) if (source === rowIndex) return true;
  return false;
}

/**
 * Returns the lengths and sizes that the number depends on in addition to the index, if it depends on nothing else;
 * undefined for all others.
 */
export function sourcesBesideRow(expr: NumberExpr): readonly Source[] | undefined {
  const sources = [...numberSources(expr)];
  const others = sources.filter((each) => each !== rowIndex);
  const isOfRow = others.length < sources.length;
  return isOfRow && others.every((each) => isLength(each) || isSize(each)) ? others : undefined;
}

/** Returns the expression for the index `row`. */
export function atRow(expr: NumberExpr, row: NumberExpr): NumberExpr {
  if (expr.kind === 'source') return expr.source === rowIndex ? row : expr;
  if (expr.kind !== 'apply' || !dependsOnRow(expr)) return expr;
  return { ...expr, args: expr.args.map((arg) => atRow(arg, row)) };
}

/** A number that changes by the same integer in each iteration. */
export interface Counter {
  readonly start: number;
  readonly step: number;
  /** The length that it is counted from; null if counted from 0. */
  readonly from: SymbolicVariable | null;
}

/** Returns the counter in an iteration. `row`: the number of earlier iterations, `at`: their number in this trace. */
export function countedBy(
  { start, step, from }: Counter,
  at: number,
  row: NumberExpr = rowIndexExpr,
): SymbolicVariable {
  const scaled = step === 1 ? row : applied('*', row, constant(step));
  const total = from ? applied('+', from.expr, scaled) : scaled;
  const expr = start === 0 ? total : applied('+', total, constant(start));
  const value = ((from?.value ?? 0) as number) + start + step * at;
  return { kind: 'symbolic', expr, value, source: null };
}

const constant = (value: number): NumberExpr => ({ kind: 'constant', value });

function applied(fn: string, left: NumberExpr, right: NumberExpr): NumberExpr {
  return { kind: 'apply', fn, args: [left, right] };
}

/**
 * Returns the expression as a counter, possibly counted from a length; undefined if it isn't one. Only sums and
 * products of integers are exact in any order: (3 * 0.1) * 10 is more than 3.
 */
export function asCounter(
  expr: NumberExpr,
  length: SymbolicVariable | null = null,
): Counter | undefined {
  if (expr.kind === 'constant') {
    return exactCounter(expr.value, 0, null);
  }
  if (expr.kind === 'source') {
    if (expr.source === rowIndex) return { start: 0, step: 1, from: null };
    const isLength = length?.source && sourceKey(expr.source) === sourceKey(length.source);
    return isLength ? { start: 0, step: 0, from: length } : undefined;
  }
  if (expr.kind !== 'apply' || expr.args.length !== 2) return undefined;
  const [a, b] = expr.args.map((arg) => asCounter(arg, length));
  if (!a || !b || (b.from && (a.from || expr.fn !== '+'))) return undefined;
  const from = a.from ?? b.from;
  if (expr.fn === '+') return exactCounter(a.start + b.start, a.step + b.step, from);
  if (expr.fn === '-') return exactCounter(a.start - b.start, a.step - b.step, from);
  if (expr.fn !== '*' || from || (a.step !== 0 && b.step !== 0)) return undefined;
  return exactCounter(a.start * b.start, a.step * b.start + a.start * b.step, from);
}

/** Larger numbers may be rounded in some iteration. */
const largest = 2 ** 26;

function exactCounter(start: number, step: number, from: Counter['from']): Counter | undefined {
  const isExact = (x: number) => Number.isInteger(x) && Math.abs(x) <= largest;
  return isExact(start) && isExact(step) ? { start, step, from } : undefined;
}

export function isSameCounter(a: Counter | undefined, b: Counter): boolean {
  return a?.start === b.start && a.step === b.step && a.from === b.from;
}

/** Returns whether a comparison of counters has the same result in all iterations from this one on. */
export function isSettledAt(expr: NumberExpr, iteration: number): boolean {
  const compare = expr.kind === 'apply' && scalarFunctions.get(expr.fn);
  if (!compare || expr.args.length !== 2) return false;
  const [a, b] = expr.args.map((arg) => asCounter(arg));
  if (!a || !b) return false;
  const step = a.step - b.step;
  const difference = a.start - b.start + step * iteration;
  return difference * step >= 0 && compare(difference, 0) === compare(step, 0);
}
