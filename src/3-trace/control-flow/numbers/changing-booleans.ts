/**
 * Booleans, and comparisons of numbers, that differ between calls. A number that they select, or that they are
 * converted to, is computed by each run; any other use guards them.
 */

import { getOrInsert } from '../../../../runtime/collections/get-or-insert.ts';
import {
  hasResultSize,
  type NumberExpr,
  numberKey,
  numberSources,
} from '../../../guards/number-expr.ts';
import type { Source } from '../../../guards/source.ts';
import { rootOf } from '../../../guards/source-key.ts';
import { OwnSet } from '../../../vm/language/primordials.ts';
import { isLength, isSize } from '../../inputs/symbolic.ts';
import { guardNumbers } from '../../state/symbolic-guards.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import {
  type ConstantVariable,
  known,
  type SymbolicVariable,
  type Variable,
} from '../../variables/variable.ts';

/** The maximum size of an expression; the value of a larger expression is guarded instead. */
export const maxSize = 1000;

type Primitive = SymbolicVariable | ConstantVariable;

export function isNumeric(variable: Variable): variable is Primitive {
  const { kind } = variable;
  return (kind === 'symbolic' || kind === 'constant') && typeof variable.value === 'number';
}

/** Returns the expression of a number. */
export function exprOf(t: Tracer, variable: Primitive): NumberExpr {
  if (variable.kind === 'constant') return constant(constantOf(t, variable) as number);
  guardNumbers(t, variable);
  return variable.expr;
}

const sizes = new WeakMap<NumberExpr, number>();

export function sizeOf(expr: NumberExpr): number {
  if (expr.kind !== 'apply') return 1;
  return getOrInsert(sizes, expr, () => expr.args.reduce((sum, arg) => sum + sizeOf(arg), 1));
}

const constant = (value: number): NumberExpr => ({ kind: 'constant', value });

const apply = (fn: string, ...args: readonly NumberExpr[]): NumberExpr => {
  return { kind: 'apply', fn, args };
};

export function dependsOnBoolean(t: Tracer, expr: NumberExpr): boolean {
  return [...numberSources(expr)].some((source) => t.variables.isBoolean(source));
}

const isChosen = (expr: NumberExpr): boolean =>
  expr.kind === 'apply' && (expr.fn === '?:' || expr.args.some(isChosen));

/** Returns the number as currently selected: guards the comparisons that select it, for a use that needs its value. */
export function decideChoices(t: Tracer, expr: NumberExpr): NumberExpr {
  if (expr.kind !== 'apply' || !isChosen(expr)) return expr;
  if (expr.fn !== '?:') return apply(expr.fn, ...expr.args.map((arg) => decideChoices(t, arg)));
  const [test, x, y] = expr.args as [NumberExpr, NumberExpr, NumberExpr];
  const value = t.numbers.value(test);
  t.guard(`number ${numberKey(test)}`, { kind: 'number', expr: test, value });
  return decideChoices(t, value ? x : y);
}

/** Whether the value is a boolean that each run can compute. */
export function isChangingBoolean(t: Tracer, variable: Variable): boolean {
  if (variable.kind === 'constant') return isChangingConstant(t, variable);
  if (variable.kind !== 'symbolic' || typeof variable.value !== 'boolean') return false;
  return bitOf(t, variable.expr) !== undefined;
}

/** False in an iteration that is traced once for all elements of an array: the boolean differs between elements. */
const isChangingConstant = (t: Tracer, { source, changes }: ConstantVariable): boolean =>
  changes === true && source !== null && t.rows === null;

/** Returns `Number(boolean)`; undefined unless each run can compute it. */
export function numberOfBoolean(t: Tracer, variable: Variable): SymbolicVariable | undefined {
  if (!isChangingBoolean(t, variable)) return undefined;
  const { value } = variable as Primitive;
  return computed(t, bitOf(t, booleanExpr(variable as Primitive))!, Number(value));
}

/** Returns `!boolean`; undefined unless each run can compute it. */
export function negatedBoolean(t: Tracer, variable: Variable): SymbolicVariable | undefined {
  if (!isChangingBoolean(t, variable)) return undefined;
  const expr = apply('!', booleanExpr(variable as Primitive));
  return sizeOf(expr) > maxSize ? undefined : computed(t, expr, !(variable as Primitive).value);
}

/** Returns `a === b`, or `a !== b` if not `same`, of booleans; undefined unless each run can compute it. */
export function comparedBooleans(
  t: Tracer,
  same: boolean,
  operands: readonly Variable[],
): SymbolicVariable | undefined {
  if (!operands.every(isBoolean)) return undefined;
  const [a, b] = operands as readonly [Primitive, Primitive];
  const [test, other] = isChangingBoolean(t, a) ? [a, b] : [b, a];
  if (!isChangingBoolean(t, test)) return undefined;
  const negated = negatedBoolean(t, other) ?? constantBoolean(t, other, false);
  const plain = isChangingBoolean(t, other) ? other : constantBoolean(t, other, true);
  return chosenBy(t, test, same ? plain : negated, same ? negated : plain);
}

const isBoolean = (variable: Variable): variable is Primitive =>
  (variable.kind === 'constant' || variable.kind === 'symbolic') &&
  typeof variable.value === 'boolean';

function constantBoolean(t: Tracer, variable: Variable, isSame: boolean): ConstantVariable {
  return known((constantOf(t, variable) === true) === isSame);
}

/** Returns `test ? x : y` of numbers or of booleans; undefined for other operands. */
export function chosenBy(
  t: Tracer,
  test: Primitive,
  x: Variable,
  y: Variable,
): SymbolicVariable | undefined {
  const operand = isNumeric(x) ? numericOperand : booleanOperand;
  const [a, b] = [operand(t, x), operand(t, y)];
  if (!a || !b) return undefined;
  const decides = isNumeric(test) ? exprOf(t, test) : conditionOf(t, booleanExpr(test));
  const expr = choice(decides, a, b);
  if (sizeOf(expr) > maxSize) return undefined;
  return computed(t, expr, ((test.value ? x : y) as Primitive).value as number | boolean);
}

const numericOperand = (t: Tracer, variable: Variable): NumberExpr | undefined =>
  isNumeric(variable) ? exprOf(t, variable) : undefined;

function booleanOperand(t: Tracer, variable: Variable): NumberExpr | undefined {
  if (isChangingBoolean(t, variable)) return booleanExpr(variable as Primitive);
  if (variable.kind !== 'constant' || typeof variable.value !== 'boolean') return undefined;
  return apply('!', constant(constantOf(t, variable) ? 0 : 1));
}

function computed(t: Tracer, expr: NumberExpr, value: number | boolean): SymbolicVariable {
  const variable = { kind: 'symbolic', expr, value, source: null } as const;
  guardNumbers(t, variable);
  return variable;
}

/** The expression of a changing boolean: a source, its negation, or a choice of such expressions. */
function booleanExpr(variable: Primitive): NumberExpr {
  if (variable.kind === 'symbolic') return variable.expr;
  return { kind: 'source', source: variable.source! };
}

/** Returns an expression that is truthy if the boolean is true: programs compute only numbers. */
const conditionOf = (t: Tracer, expr: NumberExpr): NumberExpr =>
  expr.kind === 'source' ? expr : bitOf(t, expr)!;

const comparisons: ReadonlySet<string> = new OwnSet(['<', '<=', '>', '>=', '===', '!==']);

/** Whether it compares numbers of the data, which differ between calls: not sizes, and not the clock. */
function isChangingComparison(t: Tracer, expr: NumberExpr & { readonly kind: 'apply' }): boolean {
  if (!comparisons.has(expr.fn) || t.rows !== null) return false;
  const sources = [...numberSources(expr)];
  if (!sources.some((source) => t.variables.hasChangingComparisons(source))) return false;
  return !hasResultSize(expr) && sources.every(isOfData);
}

function isOfData(source: Source): boolean {
  const { kind } = source;
  if (kind === 'called' || kind === 'held' || isSize(source) || isLength(source)) return false;
  return rootOf(source).kind !== 'register';
}

/** Returns a boolean expression as 1 or 0; undefined if it isn't computed only from booleans and comparisons. */
function bitOf(t: Tracer, expr: NumberExpr): NumberExpr | undefined {
  if (expr.kind === 'source') {
    return t.variables.isBoolean(expr.source) ? choice(expr, constant(1), constant(0)) : undefined;
  }
  if (expr.kind !== 'apply') return undefined;
  if (expr.fn === '!') {
    const [negated] = expr.args as [NumberExpr];
    if (negated.kind === 'constant') return constant(negated.value === 0 ? 1 : 0);
    const bit = bitOf(t, negated);
    return bit && choice(bit, constant(0), constant(1));
  }
  if (isChangingComparison(t, expr)) return choice(expr, constant(1), constant(0));
  if (expr.fn !== '?:') return undefined;
  const [test, x, y] = expr.args as [NumberExpr, NumberExpr, NumberExpr];
  const [a, b] = [bitOf(t, x), bitOf(t, y)];
  return a && b && choice(test, a, b);
}

/** `test ? x : y`. A test that selects between 1 and 0 by another test is replaced by that test. */
function choice(test: NumberExpr, x: NumberExpr, y: NumberExpr): NumberExpr {
  if (test.kind === 'apply' && test.fn === '?:') {
    const [inner, one, zero] = test.args as [NumberExpr, NumberExpr, NumberExpr];
    if (isConstant(one, 1) && isConstant(zero, 0)) return choice(inner, x, y);
    if (isConstant(one, 0) && isConstant(zero, 1)) return choice(inner, y, x);
  }
  return apply('?:', test, x, y);
}

const isConstant = (expr: NumberExpr, value: number): boolean =>
  expr.kind === 'constant' && expr.value === value;
