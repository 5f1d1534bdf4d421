/** `Object.prototype.toString`, the default text conversion of objects. */

import { isProxy } from '../../guards/plain.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { isArray } from '../values/arrays.ts';
import { readSymbol } from '../values/properties.ts';
import { isPrimitiveVariable } from '../values/to-primitive.ts';
import { specialized } from '../variables/unions.ts';
import { known, type ObjectVariable, type Variable } from '../variables/variable.ts';
import type { BuiltinTable } from './builtin.ts';

/** Returns the tag of a value without `Symbol.toStringTag`; undefined if it isn't traced. */
function builtinTag(t: Tracer, value: Variable): string | undefined {
  switch (value.kind) {
    case 'newArray':
      return value.isArguments ? 'Arguments' : 'Array';
    case 'newObject':
      return value.errorType ? 'Error' : 'Object';
    case 'closure':
    case 'bound':
    case 'function':
      return 'Function';
    case 'regexp':
      return 'RegExp';
    case 'newHost':
      return marked.find((type) => value.value instanceof type)?.name ?? 'Object';
    case 'newCollection':
    case 'generator':
    case 'iterator':
    case 'newTypedArray':
      return 'Object';
    case 'object':
      return tagOfOuter(t, value);
    default:
      return undefined;
  }
}

/** Types whose instances have a built-in tag, whatever their prototype. */
const marked = [Error, Date, RegExp, Number, String, Boolean];

function tagOfOuter(t: Tracer, variable: ObjectVariable): string | undefined {
  const { value, source } = variable;
  if (isProxy(value) || marked.some((type) => value instanceof type)) return undefined;
  // `arguments` has an own `callee`. Asking for the tag itself could run a getter.
  if (Object.hasOwn(value, 'callee')) return undefined;
  if (isArray(t, variable)) return 'Array';
  const above: unknown = Object.getPrototypeOf(value);
  const prototype = t.read({ kind: 'prototypeOf', base: source }, above);
  if (prototype.kind !== 'object') return undefined;
  const guard = { kind: 'identity', source: prototype.source, value: prototype.value } as const;
  t.guard(`identity ${sourceKey(prototype.source)}`, guard);
  return 'Object';
}

export const tagBuiltins: BuiltinTable = [
  [
    Object.prototype.toString,
    (t, receiver) => {
      const value = specialized(receiver);
      if (value.kind === 'constant' || value.kind === 'symbolic') {
        return known(Object.prototype.toString.call(constantOf(t, value)));
      }
      const word = builtinTag(t, value);
      if (word === undefined) return undefined;
      const tag = specialized(readSymbol(t, value, Symbol.toStringTag));
      const text = isPrimitiveVariable(tag) ? constantOf(t, tag) : undefined;
      return known(`[object ${typeof text === 'string' ? text : word}]`);
    },
  ],
];
