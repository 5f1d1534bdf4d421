/** Regular expressions, created in the trace or pre-existing, run on text that is known while tracing. */

import { isProxy } from '../../../guards/plain.ts';
import { printRegExp } from '../../../guards/query.ts';
import { orRaise } from '../../state/exceptions.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf, isUndefined } from '../../state/value-guards.ts';
import { specialized } from '../../variables/unions.ts';
import {
  known,
  type ObjectVariable,
  type RegExpVariable,
  type Variable,
} from '../../variables/variable.ts';
import { isPrimitiveVariable, textOfPrimitive, withPrimitives } from '../to-primitive.ts';
import { writeProperty } from '../write-property.ts';

export type RegularExpression = RegExpVariable | ObjectVariable;

/** Returns the variable as a regular expression without user-defined properties. */
export function asRegExp(variable: Variable | undefined): RegularExpression | undefined {
  if (variable?.kind === 'regexp') return variable;
  if (variable?.kind !== 'object') return undefined;
  const { value } = variable;
  if (isProxy(value) || !(value instanceof RegExp)) return undefined;
  return printRegExp(value) === undefined ? undefined : variable;
}

/** Runs `body` on a copy of the regular expression, and applies a change of `lastIndex` to the original. */
export function withRegExp<T>(
  t: Tracer,
  expression: RegularExpression,
  body: (expression: RegExp) => T,
): T {
  const copy = copyOf(t, expression);
  const moves = copy.global || copy.sticky;
  const before = moves ? lastIndexOf(t, expression) : 0;
  copy.lastIndex = before;
  const result = body(copy);
  if (moves && copy.lastIndex !== before) setLastIndex(t, expression, copy.lastIndex);
  return result;
}

/** `new RegExp(pattern, flags)`, where the pattern may be a regular expression. */
export function newRegExp(t: Tracer, args: readonly Variable[]): Variable | undefined {
  const [pattern, flags] = args.map((arg) => {
    const value = specialized(arg);
    return isPrimitiveVariable(value) && isUndefined(t, value) ? undefined : value;
  });
  const copied = asRegExp(pattern);
  const copy = copied && copyOf(t, copied);
  const text = copy ? known(copy.source) : (pattern ?? known(''));
  return withPrimitives(t, [text, flags ?? known(copy?.flags ?? '')], 'string', (primitives) => {
    const [source, letters] = primitives.map((each) => textOfPrimitive(t, each));
    const regExp = orRaise(t, () => new RegExp(source!, letters));
    return { kind: 'regexp', pattern: regExp.source, flags: regExp.flags, lastIndex: 0 };
  });
}

/** Returns a copy with `lastIndex` 0. */
export function copyOf(t: Tracer, expression: RegularExpression): RegExp {
  if (expression.kind === 'regexp') return new RegExp(expression.pattern, expression.flags);
  const { source, value } = expression;
  const printed = { kind: 'query', base: source, query: 'regExp', key: undefined } as const;
  constantOf(t, t.read(printed, printRegExp(value)));
  const { source: pattern, flags } = value as RegExp;
  return new RegExp(pattern, flags);
}

export function lastIndexOf(t: Tracer, expression: RegularExpression): number {
  if (expression.kind === 'regexp') return expression.lastIndex;
  const { value, source } = expression;
  const written = t.effects.written(value, source, 'lastIndex');
  const index =
    written ??
    t.read({ kind: 'property', base: source, key: 'lastIndex' }, (value as RegExp).lastIndex);
  return Number(constantOf(t, index));
}

function setLastIndex(t: Tracer, expression: RegularExpression, index: number): void {
  writeProperty(t, expression, 'lastIndex', known(index));
}
