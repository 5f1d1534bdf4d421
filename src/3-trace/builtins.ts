/** The host's own functions that are understood: pure ones, and those performed on variables. */

import { GraphBreak } from '../traces/graph-break.ts';
import { arrayBuiltins } from './builtins/arrays.ts';
import type { Builtin, HostFunction } from './builtins/builtin.ts';
import { collectionBuiltins } from './builtins/collections.ts';
import { objectBuiltins } from './builtins/objects.ts';
import { constantOf } from './facts.ts';
import { numberNeeded } from './number-needed.ts';
import { putOffCall } from './numbers.ts';
import { textAsked } from './text.ts';
import type { Tracer } from './tracer.ts';
import { typedArrayMade } from './typed-arrays.ts';
import { known, newArray, type Variable } from './variable.ts';

function functionsOf(object: object, except: readonly string[] = []): HostFunction[] {
  return Object.getOwnPropertyNames(object)
    .filter((name) => !except.includes(name))
    .map((name) => (object as Record<string, unknown>)[name])
    .filter((value): value is HostFunction => typeof value === 'function');
}

/** Depend on primitive arguments alone and answer a primitive, or an array of them. */
const pure: ReadonlySet<HostFunction> = new Set<HostFunction>([
  ...functionsOf(Math, ['random']),
  ...functionsOf(String.prototype, ['constructor', 'match', 'matchAll']),
  Number.isFinite,
  Number.isInteger,
  Number.isNaN,
  Number.isSafeInteger,
  Number.prototype.toFixed,
  Number.prototype.toString,
  Number.prototype.toPrecision,
  Number.prototype.toExponential,
  Number.prototype.valueOf,
  Boolean.prototype.toString,
  Number.parseFloat,
  Number.parseInt,
  // biome-ignore lint/suspicious/noGlobalIsNan: the user's calls are meant.
  globalThis.isNaN,
  // biome-ignore lint/suspicious/noGlobalIsFinite: the user's calls are meant.
  globalThis.isFinite,
  String.fromCharCode,
  Number,
  String,
  Boolean,
] as HostFunction[]);

/** Looked up in this order: performed on variables first, then run on constants. */
const performed: ReadonlyMap<HostFunction, Builtin> = new Map<HostFunction, Builtin>([
  ...arrayBuiltins,
  ...collectionBuiltins,
  ...objectBuiltins,
]);

const isPrimitiveVariable = ({ kind }: Variable) => kind === 'constant' || kind === 'symbolic';

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
  return putOffCall(t, fn, args) ?? (pure.has(fn) ? computed(t, fn, receiver, args) : undefined);
}

function computed(
  t: Tracer,
  fn: HostFunction,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  for (const given of [receiver, ...args]) {
    if (given.kind === 'scalar') throw numberNeeded(given, `is given to ${fn.name}()`);
    if (given.kind === 'text') throw textAsked(given, `is given to ${fn.name}()`);
  }
  if (!args.every(isPrimitiveVariable)) return undefined;
  const self = isPrimitiveVariable(receiver) ? constantOf(t, receiver) : undefined;
  const values = args.map((arg) => constantOf(t, arg));
  try {
    const result: unknown = Reflect.apply(fn as (...args: unknown[]) => unknown, self, values);
    if (Array.isArray(result)) return newArray(result.map((item: string) => known(item)));
    return known(result as string | number | boolean);
  } catch (error) {
    throw new GraphBreak('throw', error instanceof Error ? error.message : String(error));
  }
}
