/** The elements of an array that a loop visits, in order. */

import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../../guards/number-expr.ts';
import { type Counter, countedBy, isSameCounter } from '../../inputs/row-index.ts';
import type { Tracer } from '../../state/tracer.ts';
import { truthiness } from '../../state/value-guards.ts';
import { deferOperator } from '../../values/numbers.ts';
import { known, type SymbolicVariable, type Variable } from '../../variables/variable.ts';
import { rowsFrom } from './row-elements.ts';

export interface RowOrder {
  /** The index of each element. A backward loop counts down from the length to 0. */
  readonly index: Counter;
  /** The number of elements at the end that a forward loop omits. */
  readonly spared: number;
}

/** Returns the tensors of each visited element, in order of the visits. */
export function rowsInOrder(
  columns: readonly (readonly Tensor[])[],
  { index, spared }: RowOrder,
): Tensor[][] {
  const all = rowsFrom(columns, 0);
  const rows: Tensor[][] = [];
  const start = index.start + (index.from ? all.length : 0);
  for (let i = start; i >= 0 && i < all.length - spared; i += index.step) rows.push(all[i]!);
  return rows;
}

/** Returns the index in the recorded array of the element that an iteration visits. */
export function recordedIndex({ index }: RowOrder, iteration: number, count: number): number {
  return index.start + (index.from ? count : 0) + index.step * iteration;
}

/** The number of iterations over elements that existed before the trace. */
interface RowCount {
  readonly order: RowOrder;
  readonly length: SymbolicVariable;
  readonly iterations: SymbolicVariable;
  /** The distance of the next index from the end of these elements; null for a backward loop. */
  readonly next: number | null;
}

/** Counts the iterations. With a step larger than 1, the trace is valid for lengths with the same remainder. */
export function countIterations(t: Tracer, order: RowOrder, length: SymbolicVariable): RowCount {
  const { start, step, from } = order.index;
  const size = Math.abs(step);
  const rest = from ? start + 1 : -order.spared - start;
  const span = (length.value as number) + rest;
  const missing = (size - (span % size)) % size;
  const total = shifted(length.expr, rest + missing);
  if (size > 1) {
    const remainder = deferOperator(t, '%', [
      { kind: 'symbolic', expr: total, value: span + missing, source: null },
      known(size),
    ])!;
    truthiness(t, deferOperator(t, '===', [remainder, known(0)])!);
  }
  const value = (span + missing) / size;
  const expr: NumberExpr =
    size === 1
      ? total
      : { kind: 'apply', fn: '/', args: [total, { kind: 'constant', value: size }] };
  return {
    order,
    length,
    iterations: { kind: 'symbolic', expr, value, source: null },
    next: from ? null : missing - order.spared,
  };
}

/** Returns a counter after all these iterations. */
export function counterAfter(
  counter: Counter,
  { order, length, iterations, next }: RowCount,
): SymbolicVariable {
  if (next !== null && isSameCounter(counter, order.index)) return fromEnd(length, next);
  return countedBy(counter, iterations.value as number, iterations.expr);
}

/** Returns the sum of what the iterations count; all later iterations count as much as the last given one. */
export function totalOf(counts: readonly number[], { iterations }: RowCount): Variable {
  const each = counts.at(-1)!;
  const first = counts.reduce((sum, one) => sum + one, 0) - each * counts.length;
  if (each === 0) return known(first);
  const counter = { start: first, step: each, from: null };
  return countedBy(counter, iterations.value as number, iterations.expr);
}

/** Returns the length plus `plus`. */
export function fromEnd({ expr, value }: SymbolicVariable, plus: number): SymbolicVariable {
  const sum = (value as number) + plus;
  return { kind: 'symbolic', expr: shifted(expr, plus), value: sum, source: null };
}

function shifted(expr: NumberExpr, by: number): NumberExpr {
  if (by === 0) return expr;
  return { kind: 'apply', fn: '+', args: [expr, { kind: 'constant', value: by }] };
}
