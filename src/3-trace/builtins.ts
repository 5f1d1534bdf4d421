/** The host's own functions that are pure, or that are traced through an equivalent. */

import { GraphBreak } from '../traces/graph-break.ts';
import { type ArrayVariable, arrayElements, asArray, isArray, solidElements } from './arrays.ts';
import { constantOf } from './facts.ts';
import { putOffCall } from './numbers.ts';
import type { Tracer } from './tracer.ts';
import { known, newArray, type Variable } from './variable.ts';

type HostFunction = (...args: never[]) => unknown;

function functionsOf(object: object, except: readonly string[] = []): HostFunction[] {
  return Object.getOwnPropertyNames(object)
    .filter((name) => !except.includes(name))
    .map((name) => (object as Record<string, unknown>)[name])
    .filter((value): value is HostFunction => typeof value === 'function');
}

/** Depend on primitive arguments alone and answer a primitive. */
const pure: ReadonlySet<HostFunction> = new Set<HostFunction>([
  ...functionsOf(Math, ['random']),
  ...functionsOf(String.prototype, ['constructor', 'match', 'matchAll', 'split']),
  Number.isFinite,
  Number.isInteger,
  Number.isNaN,
  Number.isSafeInteger,
  Number.prototype.toFixed,
  Number.prototype.toString,
  Number.prototype.toPrecision,
  Number.parseFloat,
  Number.parseInt,
  Number,
  String,
  Boolean,
] as HostFunction[]);

type Equivalent = (t: Tracer, receiver: Variable, args: readonly Variable[]) => Variable;

function arrayOf(t: Tracer, receiver: Variable): ArrayVariable {
  const array = asArray(t, receiver);
  if (!array) throw new GraphBreak('native-call', 'an array method on something else');
  return array;
}

function madeElements(receiver: Variable): Variable[] {
  if (receiver.kind === 'newArray') return receiver.elements;
  throw new GraphBreak('object-write', 'an array from outside is changed');
}

/**
 * `Object.defineProperty(closure, 'name', { value, configurable: true })`: tools that shorten names write
 * it around every function. Anything else is defined natively.
 */
function nameClosure(t: Tracer, args: readonly Variable[]): Variable {
  const [target, key, descriptor] = args;
  const entries = descriptor?.kind === 'newObject' ? descriptor.entries : undefined;
  const [value, configurable] = [entries?.get('value'), entries?.get('configurable')];
  if (
    target?.kind === 'closure' &&
    key?.kind === 'constant' &&
    value?.kind === 'constant' &&
    typeof value.value === 'string' &&
    configurable?.kind === 'constant' &&
    entries?.size === 2 &&
    constantOf(t, key) === 'name' &&
    constantOf(t, configurable) === true
  ) {
    target.name = constantOf(t, value) as string;
    return target;
  }
  throw new GraphBreak('native-call', 'Object.defineProperty() is native code');
}

const equivalents: ReadonlyMap<HostFunction, Equivalent> = new Map<HostFunction, Equivalent>([
  [Array.isArray, (t, _receiver, [x]) => known(x !== undefined && isArray(t, x))],
  [Object.defineProperty, (t, _receiver, args) => nameClosure(t, args)],
  [Array.prototype.push, (_t, receiver, args) => known(madeElements(receiver).push(...args))],
  [Array.prototype.pop, (_t, receiver) => madeElements(receiver).pop() ?? known(undefined)],
  [
    Array.prototype.slice,
    (t, receiver, args) => {
      const [start, end] = args.map((arg) => constantOf(t, arg) as number | undefined);
      return newArray(solidElements(t, arrayOf(t, receiver)).slice(start, end));
    },
  ],
  [
    Array.prototype.at,
    (t, receiver, [index]) => {
      const at = index ? (constantOf(t, index) as number) : 0;
      return arrayElements(t, arrayOf(t, receiver)).at(at) ?? known(undefined);
    },
  ],
  [
    Array.prototype.concat,
    (t, receiver, args) => {
      const parts = [receiver, ...args].map((part) => {
        if (part.kind === 'object' && !Array.isArray(part.value)) {
          throw new GraphBreak('native-call', 'concat of an object');
        }
        if (!isArray(t, part)) return [part];
        return solidElements(t, arrayOf(t, part));
      });
      return newArray(parts.flat());
    },
  ],
]);

const isPrimitiveVariable = ({ kind }: Variable) => kind === 'constant' || kind === 'symbolic';

/** The result of a host function, or undefined when it must run natively. */
export function callBuiltin(
  t: Tracer,
  fn: HostFunction,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  const equivalent = equivalents.get(fn);
  if (equivalent) return equivalent(t, receiver, args);
  const symbolic = putOffCall(t, fn, args);
  if (symbolic) return symbolic;
  if (!pure.has(fn) || !args.every(isPrimitiveVariable)) return undefined;
  const self = isPrimitiveVariable(receiver) ? constantOf(t, receiver) : undefined;
  const values = args.map((arg) => constantOf(t, arg));
  try {
    const result: unknown = Reflect.apply(fn as (...args: unknown[]) => unknown, self, values);
    return known(result as string | number | boolean);
  } catch (error) {
    throw new GraphBreak('throw', error instanceof Error ? error.message : String(error));
  }
}
