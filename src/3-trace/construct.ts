/** `new`: the language's own containers are made inside, everything else natively. */

import type { Reg } from '../bytecode/instructions.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import { nameAt } from './callee-name.ts';
import { setEntry } from './collections.ts';
import { constantOf, guardIdentity, isNullish } from './facts.ts';
import { expand } from './iterators.ts';
import { readProperty } from './properties.ts';
import type { Tracer } from './tracer.ts';
import { newTypedArray, typedArrayTypes } from './typed-arrays.ts';
import {
  hole,
  known,
  type NewCollectionVariable,
  newArray,
  type ObjectVariable,
  type Variable,
} from './variable.ts';

/** The object; undefined when a frame was pushed whose return gives it. */
export function construct(
  t: Tracer,
  callee: Variable,
  args: readonly Variable[],
  _returnTo: Reg | undefined,
): Variable | undefined {
  const made: unknown = callee.kind === 'function' ? callee.value : undefined;
  if (callee.kind === 'function') {
    if (made === Map || made === Set) {
      guardIdentity(t, callee);
      return newCollection(t, made === Map ? 'Map' : 'Set', args[0]);
    }
    if (errorTypes.has(made)) {
      guardIdentity(t, callee);
      return newError(t, made as ErrorConstructor, args);
    }
    if (typedArrayTypes.has(made)) {
      guardIdentity(t, callee);
      return newTypedArray(t, made, args[0]);
    }
    if (made === Array) {
      guardIdentity(t, callee);
      return newElements(t, args);
    }
  }
  throw new GraphBreak('constructor', `new ${nameAt(t.top)}()`);
}

const errorTypes: ReadonlySet<unknown> = new Set<unknown>([
  Error,
  TypeError,
  RangeError,
  ReferenceError,
  SyntaxError,
]);

/** With a message that the trace knows; each run makes another error. */
function newError(t: Tracer, type: ErrorConstructor, args: readonly Variable[]): Variable {
  const [message] = args;
  if (args.length > 1) throw new GraphBreak('constructor', `new ${type.name}() with options`);
  const text = message && constantOf(t, message);
  if (typeof text === 'symbol') throw new GraphBreak('throw', 'a symbol as message');
  const entries = new Map<string, Variable>();
  if (text !== undefined) entries.set('message', known(String(text)));
  const { prototype } = type;
  const source = {
    kind: 'held',
    value: prototype as object,
    name: `${type.name}.prototype`,
  } as const;
  const above = t.read(source, prototype) as ObjectVariable;
  return { kind: 'newObject', entries, prototype: above, errorType: type };
}

function newCollection(
  t: Tracer,
  type: 'Map' | 'Set',
  content: Variable | undefined,
): NewCollectionVariable {
  const made: NewCollectionVariable = { kind: 'newCollection', type, entries: new Map() };
  if (content === undefined || isNullish(t, content)) return made;
  for (const item of expand(t, content)) {
    if (type === 'Set') setEntry(t, made, 'add', { key: item, value: item });
    else {
      const [key, value] = [readProperty(t, item, '0'), readProperty(t, item, '1')];
      setEntry(t, made, 'set', { key, value });
    }
  }
  return made;
}

/** `new Array(n)` has n holes, `new Array(a, b)` two elements. */
export function newElements(t: Tracer, args: readonly Variable[]): Variable {
  const [only] = args;
  if (args.length !== 1 || only === undefined) return newArray(args);
  if (only.kind !== 'constant' && only.kind !== 'symbolic') return newArray(args);
  const length = constantOf(t, only);
  if (typeof length !== 'number') return newArray(args);
  if (!Number.isInteger(length) || length < 0 || length > 2 ** 16) {
    throw new GraphBreak('native-call', `an array of length ${length} is made`);
  }
  return newArray(new Array<Variable>(length).fill(hole));
}
