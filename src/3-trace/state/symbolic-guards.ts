/** Guards on symbolic numbers, and comparisons that size bounds decide without a guard. */

import { type NumberExpr, numberKey, numberSources } from '../../guards/number-expr.ts';
import { decidedByBounds, rangeOf } from '../../guards/number-range.ts';
import { dimSource, type Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { lengthKey } from '../../traces/changing-facts.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { structureOf } from '../../vm/bytecode/structure.ts';
import { dependsOnRow } from '../inputs/row-index.ts';
import { isLength, isSize } from '../inputs/symbolic.ts';
import type { SymbolicVariable } from '../variables/variable.ts';
import type { Tracer } from './tracer.ts';

/**
 * Returns the source of a pre-existing tensor's size. Dimensions that the bounds declare equal share one source.
 */
export function sizeSource(t: Tracer, tensor: Source, dim: number): Source {
  const source = dimSource(tensor, dim);
  return t.bounds.get(sourceKey(source))?.place ?? source;
}

/** Guards that all sources of the expression are numbers or booleans, as they are now. */
export function guardNumbers(t: Tracer, { expr }: SymbolicVariable): void {
  for (const source of numberSources(expr)) {
    // The index of an iteration.
    if (source.kind === 'held') continue;
    if (source.kind === 'called' || (t.sizes.isKey(source) && isSize(source))) continue;
    const type = t.variables.isBoolean(source) ? 'boolean' : 'number';
    t.guard(`typeof ${sourceKey(source)}`, { kind: 'typeof', source, type });
  }
}

/** Guards that the number or comparison keeps its current value, unless the bounds already imply it. */
export function guardValue(t: Tracer, variable: SymbolicVariable): number | boolean {
  const { expr, value, source } = variable;
  if (dependsOnRow(expr)) {
    if (t.rows?.decide(expr)) return value;
    throw indexNeeded();
  }
  if (decidedByBounds(expr, t.bounds) === value) return value;
  if (typeof value === 'number' && isOfLength(expr)) {
    t.sizes.holdForOneLength(t.position(), 'what it does depends on how many elements there are');
  }
  const key = source ? `value ${sourceKey(source)}` : `number ${numberKey(expr)}`;
  expectLasting(t, key);
  expectLastingLengths(t, expr);
  t.guard(key, source ? { kind: 'value', source, value } : { kind: 'number', expr, value });
  return value;
}

/** Whether the number is computed from the length of a list or string. */
export function isOfLength(expr: NumberExpr): boolean {
  return [...numberSources(expr)].some(isLength);
}

export function indexNeeded(): GraphBreak {
  return new GraphBreak(
    'unsupported-value',
    'the index of an element decides what an iteration does',
  );
}

/**
 * Throws if JavaScript needs the result of `Math.random()` or the clock: the trace restarts if decisions can be
 * part of the program; otherwise the graph breaks.
 */
export function expectNoCall(t: Tracer, expr: NumberExpr): void {
  const sites = t.called.sitesOf(expr);
  if (sites.length === 0) return;
  if (t.control.policy !== 'functions') t.control.plans.computeAt(sites);
  // Without a preceding op, the break ends no graph.
  const reason = t.builder.opCount === 0 ? 'host-value' : 'changing-call';
  throw new GraphBreak(reason, 'a number that differs in each run');
}

/** Returns whether the number is positive for all sizes within the bounds. */
export function isPositive(t: Tracer, { expr }: SymbolicVariable): boolean {
  const range = rangeOf(expr, t.bounds);
  return range !== undefined && range.low > 0;
}

/**
 * Likewise for the lengths of lists that contain no tensor. A loop in which ops are met is unrolled for each length
 * instead: a graph in each iteration would cost more.
 */
function expectLastingLengths(t: Tracer, expr: NumberExpr): void {
  const changing = [...numberSources(expr)].filter(isLength).map(lengthKey);
  if (changing.some((key) => t.changing.has(key, true)) && !isLoopWithOps(t)) {
    for (const key of changing) expectLasting(t, key);
  }
}

function isLoopWithOps({ top: { closure, pc }, sites }: Tracer): boolean {
  const { code } = closure;
  for (const { body } of structureOf(code).loops.values()) {
    if (body.has(pc) && [...body].some((each) => sites.mayHave(code, each))) return true;
  }
  return false;
}

/** Breaks the graph before it relies on a fact that calls keep changing, if the graph may break. */
export function expectLasting(t: Tracer, key: string): void {
  if (t.control.policy === 'always') return;
  if (t.changing.has(key, t.builder.opCount > 0)) throw changingValue();
}

export const changingValue = (): GraphBreak =>
  new GraphBreak('host-value', 'a value that changes from run to run');
