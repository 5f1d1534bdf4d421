/** Numbers whose computation is deferred to the run. */

import { hostScalarNames, scalarFunctions } from '../../../runtime/ops/numbers/scalar-functions.ts';
import type { BinaryOperator } from '../../vm/bytecode/instructions.ts';
import {
  comparedBooleans,
  exprOf,
  isNumeric,
  maxSize,
  negatedBoolean,
  numberOfBoolean,
  sizeOf,
} from '../control-flow/numbers/changing-booleans.ts';
import { symbolicFrom } from '../inputs/symbolic.ts';
import type { Tracer } from '../state/tracer.ts';
import type { ConstantVariable, SymbolicVariable, Variable } from '../variables/variable.ts';
import { ChangingNumbers } from './changing-numbers.ts';

/** Defers `fn` to the run if one of its numbers is symbolic; undefined if it can't be deferred. */
export function deferToRun(
  t: Tracer,
  fn: string,
  operands: readonly Variable[],
): SymbolicVariable | undefined {
  if (fn === '!') {
    const negated = negatedBoolean(t, operands[0]!);
    if (negated) return negated;
  }
  if (fn === '===' || fn === '!==') {
    const compared = comparedBooleans(t, fn === '===', operands);
    if (compared) return compared;
  }
  const args = convertsBooleans(fn)
    ? operands.map((arg) => numberOfBoolean(t, arg) ?? arg)
    : operands;
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

/** Comparisons by type and tests of numbers don't treat booleans as numbers. */
const convertsBooleans = (fn: string): boolean =>
  fn === 'Number' || fn.startsWith('Math.') || !/^[A-Z]|^is|^parse|===?|!/.test(fn);

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
