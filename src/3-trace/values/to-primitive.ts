/** Conversions that the language makes within an instruction: objects to primitives, and values to text. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { textOfAll } from '../control-flow/numbers/text-operations.ts';
import { Raised, typeError } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, expectFewTexts, isNullish } from '../state/value-guards.ts';
import { kindName } from '../variables/kind-names.ts';
import { specialized } from '../variables/unions.ts';
import { known, type Variable } from '../variables/variable.ts';
import { readProperty, readSymbol } from './properties.ts';

export type Hint = 'default' | 'number' | 'string';

/** Returns whether the value converts to a number or text without calling anything. */
export function isPrimitiveVariable({ kind }: Variable): boolean {
  return kind === 'constant' || kind === 'symbolic' || kind === 'scalar' || kind === 'text';
}

/**
 * `ToPrimitive`: `Symbol.toPrimitive`, `valueOf` and `toString` are looked up and called like any method. A graph break
 * in one of them rolls everything back.
 */
export function toPrimitive(t: Tracer, variable: Variable, hint: Hint): Variable {
  const value = specialized(variable);
  if (isPrimitiveVariable(value)) return value;
  if (value.kind === 'tensor' || value.kind === 'dynamic' || value.kind === 'uninitialized') {
    throw new GraphBreak('unsupported-value', `${kindName(value)} where a primitive is needed`);
  }
  return t.attempt(() => {
    const exotic = readSymbol(t, value, Symbol.toPrimitive);
    if (!isNullish(t, exotic)) {
      return expectPrimitive(t.execution.callInside(exotic, value, [known(hint)]));
    }
    const result = ordinaryToPrimitive(t, value, hint === 'string' ? 'string' : 'number');
    if (!result) throw notPrimitive();
    return result;
  });
}

/** `OrdinaryToPrimitive`; undefined where it throws, because no method returns a primitive. */
export function ordinaryToPrimitive(
  t: Tracer,
  value: Variable,
  hint: 'number' | 'string',
): Variable | undefined {
  const methods = hint === 'string' ? ['toString', 'valueOf'] : ['valueOf', 'toString'];
  for (const name of methods) {
    const method = specialized(readProperty(t, value, name));
    if (!isCallable(method)) continue;
    const result = specialized(t.execution.callInside(method, value, []));
    if (isPrimitiveVariable(result)) return result;
  }
  return undefined;
}

function expectPrimitive(result: Variable): Variable {
  const value = specialized(result);
  if (isPrimitiveVariable(value)) return value;
  throw notPrimitive();
}

/** User methods have already run, so the error is thrown natively. */
const notPrimitive = () => new GraphBreak('throw', 'an object without a primitive value');

/**
 * Calls `body` with the values converted to primitives, in order. If a conversion calls user code, a graph break
 * in it or in `body` rolls everything back.
 */
export function withPrimitives<T>(
  t: Tracer,
  values: readonly Variable[],
  hint: Hint,
  body: (primitives: readonly Variable[]) => T,
): T {
  const variables = values.map(specialized);
  if (variables.every(isPrimitiveVariable)) return body(variables);
  return t.attempt(() => {
    const primitives = variables.map((value) => toPrimitive(t, value, hint));
    try {
      return body(primitives);
    } catch (error) {
      // Effects of the conversions persist.
      throw error instanceof Raised ? error.keeping() : error;
    }
  });
}

/** Like `withPrimitives`, for one value. */
export function withPrimitive<T>(
  t: Tracer,
  value: Variable,
  hint: Hint,
  body: (primitive: Variable) => T,
): T {
  return withPrimitives(t, [value], hint, ([primitive]) => body(primitive!));
}

/** Returns the concatenated text of the values. Text with device scalars is formatted after the run. */
export function joinedText(t: Tracer, values: readonly Variable[]): Variable {
  return withPrimitives(t, values, 'string', (pieces) => textOfPrimitives(t, pieces));
}

export function textOfPrimitives(t: Tracer, pieces: readonly Variable[]): Variable {
  return textOfAll(t, pieces) ?? known(pieces.map((piece) => textOfPrimitive(t, piece)).join(''));
}

/** `ToString` of a primitive. */
export function textOfPrimitive(t: Tracer, primitive: Variable): string {
  expectFewTexts(t, [primitive]);
  const value = constantOf(t, primitive);
  if (typeof value === 'symbol') throw typeError(t, 'Cannot convert a Symbol value to a string');
  return String(value);
}

/** Calls `body` with the value converted to a property key. */
export function withPropertyKey<T>(t: Tracer, key: Variable, body: (key: string | symbol) => T): T {
  return withPrimitive(t, key, 'string', (primitive) => {
    const value = constantOf(t, primitive);
    return body(typeof value === 'symbol' ? value : String(value));
  });
}

export function isCallable({ kind }: Variable): boolean {
  return kind === 'function' || kind === 'closure' || kind === 'bound';
}
