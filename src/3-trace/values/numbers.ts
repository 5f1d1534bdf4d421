/** Numbers whose computation is deferred to the run. */

import { hostScalarNames, scalarFunctions } from '../../../runtime/ops/numbers/scalar-functions.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import type { BinaryOperator } from '../../vm/bytecode/instructions.ts';
import { symbolicFrom } from '../inputs/symbolic.ts';
import { guardNumbers } from '../state/symbolic-guards.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import type { ConstantVariable, SymbolicVariable, Variable } from '../variables/variable.ts';
import { ChangingNumbers } from './changing-numbers.ts';

/** The maximum size of an expression; the value of a larger expression is guarded instead. */
const maxSize = 160;

/** Defers `fn` to the run if one of its numbers is symbolic; undefined if it can't be deferred. */
export function deferToRun(
  t: Tracer,
  fn: string,
  args: readonly Variable[],
): SymbolicVariable | undefined {
  if (!args.some((arg) => arg.kind === 'symbolic')) return undefined;
  if (!args.every(isNumeric)) return undefined;
  const exprs = args.map((arg) => exprOf(t, arg));
  if (exprs.reduce((size, expr) => size + sizeOf(expr), 1) > maxSize) return undefined;
  const value = scalarFunctions.get(fn)!(...args.map((arg) => arg.value as number));
  return { kind: 'symbolic', expr: { kind: 'apply', fn, args: exprs }, value, source: null };
}

/** Defers an operator to the run; undefined if it isn't a function of numbers alone. */
export function deferOperator(
  t: Tracer,
  operator: BinaryOperator,
  args: readonly Variable[],
): SymbolicVariable | undefined {
  const strict = operator === '==' ? '===' : operator === '!=' ? '!==' : operator;
  return scalarFunctions.has(strict) ? deferToRun(t, strict, args) : undefined;
}

/** Defers the call of a native function to the run. */
export function deferCall(
  t: Tracer,
  fn: unknown,
  args: readonly Variable[],
): SymbolicVariable | undefined {
  const name = hostScalarNames.get(fn);
  return name === undefined ? undefined : deferToRun(t, name, args);
}

type Numeric = SymbolicVariable | ConstantVariable;

function isNumeric(variable: Variable): variable is Numeric {
  const { kind } = variable;
  return (kind === 'symbolic' || kind === 'constant') && typeof variable.value === 'number';
}

function exprOf(t: Tracer, variable: Numeric): NumberExpr {
  if (variable.kind === 'constant') {
    return { kind: 'constant', value: constantOf(t, variable) as number };
  }
  guardNumbers(t, variable);
  return variable.expr;
}

function sizeOf(expr: NumberExpr): number {
  if (expr.kind !== 'apply') return 1;
  return expr.args.reduce((size, arg) => size + sizeOf(arg), 1);
}

/** `variable + number` for a counter that increases with every call: symbolic from its first value on. */
export function countedOn(
  t: Tracer,
  variable: Variable,
  plus: number,
): SymbolicVariable | undefined {
  if (variable.kind !== 'constant' || typeof variable.value !== 'number') return undefined;
  const { source, value } = variable;
  if (source?.kind !== 'property' && source?.kind !== 'free') return undefined;
  const by: ConstantVariable = { kind: 'constant', value: plus, source: null };
  return deferToRun(t, '+', [symbolicFrom(source, value), by]);
}

/** Returns the number as an operand of the tensor API that determines a shape. */
export function sizeOperand(t: Tracer, variable: SymbolicVariable): unknown {
  return new ChangingNumbers(t, { symbols: 'no', sizesInArrays: true }).operand(variable, false);
}
