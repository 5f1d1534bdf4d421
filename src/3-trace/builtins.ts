/** The host's own functions that are understood: pure ones, and those performed on variables. */

import { arrayBuiltins } from './builtins/arrays.ts';
import type { Builtin, HostFunction } from './builtins/builtin.ts';
import { collectionBuiltins } from './builtins/collections.ts';
import { jsonBuiltins } from './builtins/json.ts';
import { objectBuiltins } from './builtins/objects.ts';
import { pure } from './builtins/pure.ts';
import { regularExpressionBuiltins } from './builtins/regular-expressions.ts';
import { tagBuiltins } from './builtins/tags.ts';
import { typedArrayBuiltins } from './builtins/typed-arrays.ts';
import { orRaise } from './exceptions.ts';
import { constantOf } from './facts.ts';
import { textCall } from './graph-control/text.ts';
import { numberNeeded } from './number-needed.ts';
import { putOffCall } from './numbers.ts';
import { isPrimitiveVariable, withPrimitives } from './objects/to-primitive.ts';
import { textAsked } from './text.ts';
import type { Tracer } from './tracer.ts';
import { typedArrayMade } from './typed-arrays.ts';
import { known, newArray, type Variable } from './variable.ts';

/** Looked up in this order: performed on variables first, then run on constants. */
const performed: ReadonlyMap<HostFunction, Builtin> = new Map<HostFunction, Builtin>([
  ...arrayBuiltins,
  ...collectionBuiltins,
  ...objectBuiltins,
  ...regularExpressionBuiltins,
  ...jsonBuiltins,
  ...tagBuiltins,
  ...typedArrayBuiltins,
]);

/** The result of a host function, or undefined when it is not understood for these operands. */
export function callBuiltin(
  t: Tracer,
  fn: HostFunction,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  const builtin = performed.get(fn);
  if (builtin) {
    const result = t.attempt(() => builtin(t, receiver, args));
    if (result) return result;
  }
  const typed = typedArrayMade(t, fn, receiver, args);
  if (typed) return typed;
  const signature = pure.get(fn);
  if (!signature) return putOffCall(t, fn, args);
  const { arity, objects, isMethod } = signature;
  if (isMethod && !isPrimitiveVariable(receiver)) return undefined;
  const used = args.slice(0, arity);
  if (objects === 'false' || objects === 'untraced') {
    if (used.every(isPrimitiveVariable)) return ofPrimitives(t, fn, receiver, used);
    return objects === 'false' ? known(false) : undefined;
  }
  return withPrimitives(t, used, objects, (given) => ofPrimitives(t, fn, receiver, given));
}

function ofPrimitives(
  t: Tracer,
  fn: HostFunction,
  receiver: Variable,
  args: readonly Variable[],
): Variable {
  const later = putOffCall(t, fn, args);
  if (later) return later;
  const text = textCall(t, fn, receiver, args);
  if (text) return text;
  for (const given of [receiver, ...args]) {
    if (given.kind === 'scalar') throw numberNeeded(given, `is given to ${fn.name}()`);
    if (given.kind === 'text') throw textAsked(given, `is given to ${fn.name}()`);
  }
  const self = isPrimitiveVariable(receiver) ? constantOf(t, receiver) : undefined;
  const values = args.map((arg) => constantOf(t, arg));
  return variableOf(orRaise(t, () => Reflect.apply(fn as AnyFunction, self, values)));
}

type AnyFunction = (...args: unknown[]) => unknown;

/** Of a primitive, or an array of them. */
function variableOf(result: unknown): Variable {
  if (Array.isArray(result)) return newArray(result.map((item: string) => known(item)));
  return known(result as string | number | boolean);
}
