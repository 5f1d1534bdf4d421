/** The native functions that the tracer models: functions performed on variables, and pure functions. */

import { statePlaces } from '../../../runtime/nn/module/state-places.ts';
import { textCall } from '../control-flow/numbers/text-operations.ts';
import { orRaise } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, expectFewTexts, typeOf } from '../state/value-guards.ts';
import { deferCall } from '../values/numbers.ts';
import { isPrimitiveVariable, withPrimitives } from '../values/to-primitive.ts';
import { typedArrayMade } from '../values/typed-arrays.ts';
import { numberNeeded } from '../variables/number-needed.ts';
import { textBreak } from '../variables/text-variable.ts';
import { known, newArray, undefinedVariable, type Variable } from '../variables/variable.ts';
import { arraySearchBuiltins } from './array-search.ts';
import { arrayBuiltins } from './arrays.ts';
import { bufferBuiltins } from './buffers.ts';
import type { Builtin, HostFunction } from './builtin.ts';
import { collectionBuiltins } from './collections.ts';
import { errorBuiltins } from './construct.ts';
import { dateBuiltins } from './dates.ts';
import { boundBuiltin, hostBuiltins } from './host-objects.ts';
import { jsonBuiltins } from './json.ts';
import { withKnownPlaces } from './known-places.ts';
import { traceStatePlaces } from './lists/state-places.ts';
import { numberCallBuiltins } from './number-calls.ts';
import { objectBuiltins } from './objects.ts';
import { promiseBuiltins } from './promises.ts';
import { pure } from './pure.ts';
import { regularExpressionBuiltins } from './regular-expressions.ts';
import { symbolBuiltins } from './symbols.ts';
import { tagBuiltins } from './tags.ts';
import { typedArrayBuiltins } from './typed-arrays.ts';

/** Functions performed on variables. They take precedence over running a pure function on constants. */
const performed: ReadonlyMap<HostFunction, Builtin> = new Map<HostFunction, Builtin>([
  ...arrayBuiltins,
  ...arraySearchBuiltins,
  ...collectionBuiltins,
  ...objectBuiltins,
  ...regularExpressionBuiltins,
  ...jsonBuiltins,
  ...tagBuiltins,
  ...typedArrayBuiltins,
  ...bufferBuiltins,
  ...dateBuiltins,
  ...numberCallBuiltins,
  ...promiseBuiltins,
  ...errorBuiltins,
  ...symbolBuiltins,
  ...hostBuiltins,
  [statePlaces, traceStatePlaces],
]);

/** Returns the result of a host function; undefined if it is not modeled for these operands. */
export function callBuiltin(
  t: Tracer,
  fn: HostFunction,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  const builtin = performed.get(fn) ?? boundBuiltin(fn);
  if (builtin) {
    const specialized = withKnownPlaces(t, fn, receiver, args);
    const result = t.attempt(() => builtin(t, receiver, specialized));
    if (result) return result;
  }
  const typed = typedArrayMade(t, fn, receiver, args);
  if (typed) return typed;
  const signature = pure.get(fn);
  if (!signature) return deferCall(t, fn, args);
  const { arity, objects, isMethod } = signature;
  if (isMethod && !isPrimitiveVariable(receiver)) return undefined;
  const used = args.slice(0, arity);
  if (objects === 'false' || objects === 'untraced') {
    if (used.every(isPrimitiveVariable)) return ofPrimitives(t, fn, receiver, used);
    if (objects === 'untraced') return undefined;
    // Another call may pass a number.
    for (const value of used) typeOf(t, value);
    return known(false);
  }
  return withPrimitives(t, used, objects, (primitives) =>
    ofPrimitives(t, fn, receiver, primitives),
  );
}

function ofPrimitives(
  t: Tracer,
  fn: HostFunction,
  receiver: Variable,
  args: readonly Variable[],
): Variable {
  const later = deferCall(t, fn, args);
  if (later) return later;
  const text = textCall(t, fn, receiver, args);
  if (text) return text;
  for (const operand of [receiver, ...args]) {
    if (operand.kind === 'scalar') throw numberNeeded(operand, `is passed to ${fn.name}()`);
    if (operand.kind === 'text') throw textBreak(operand, `is passed to ${fn.name}()`);
  }
  const isOfPrimitive = isPrimitiveVariable(receiver) && receiver !== undefinedVariable;
  if (isOfPrimitive || fn === String) expectFewTexts(t, [receiver, ...args]);
  const self = isPrimitiveVariable(receiver) ? constantOf(t, receiver) : undefined;
  const values = args.map((arg) => constantOf(t, arg));
  return variableOf(orRaise(t, () => Reflect.apply(fn as AnyFunction, self, values)));
}

type AnyFunction = (...args: unknown[]) => unknown;

/** Returns the variable for a primitive or an array of primitives. */
function variableOf(result: unknown): Variable {
  if (Array.isArray(result)) return newArray(result.map((item: string) => known(item)));
  return known(result as string | number | boolean);
}
