/** Reading properties of what the tracer knows, without running user code. */

import { isModuleNamespace, isPlainObject, isProxy, readsPlainly } from '../guards/plain.ts';
import type { Source } from '../guards/source.ts';
import { sourceKey } from '../guards/source-key.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import { arrayElement, arrayLength, isIndex } from './arrays.ts';
import { constantOf } from './facts.ts';
import { guardNumbers } from './symbolic.ts';
import { readTensorProperty } from './tensor-properties.ts';
import type { Tracer } from './tracer.ts';
import {
  type FunctionVariable,
  known,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from './variable.ts';

export function readProperty(t: Tracer, base: Variable, key: string): Variable {
  switch (base.kind) {
    case 'tensor':
      return readTensorProperty(t, base, key);
    case 'object':
    case 'function':
      return readOuterProperty(t, base, key);
    case 'newArray':
      return readArrayProperty(t, base, key);
    case 'newObject':
      return base.entries.get(key) ?? inherited(Object.prototype, key);
    case 'symbolic':
      guardNumbers(t, base);
      return inherited(Object.getPrototypeOf(base.value) as object, key);
    case 'constant': {
      const value = constantOf(t, base);
      // null and undefined throw; the native step does it with the right message.
      if (value === null || value === undefined)
        throw new GraphBreak('throw', `${key} of ${value}`);
      return typeof value === 'string' && (key === 'length' || /^\d+$/.test(key))
        ? known(value[key as 'length'])
        : inherited(Object.getPrototypeOf(value) as object, key);
    }
    default:
      throw new GraphBreak('unsupported-value', `the property ${key} of a ${base.kind}`);
  }
}

function readArrayProperty(
  t: Tracer,
  base: Variable & { kind: 'newArray' },
  key: string,
): Variable {
  if (key === 'length') return known(arrayLength(t, base));
  if (isIndex(key)) return arrayElement(t, base, Number(key));
  return inherited(Array.prototype, key);
}

/** Methods of the language's own prototypes. */
function inherited(prototype: object, key: string): Variable {
  const value: unknown = (prototype as Record<string, unknown>)[key];
  if (value === undefined) return undefinedVariable;
  if (typeof value === 'function') {
    return { kind: 'function', value: value as FunctionVariable['value'], source: null };
  }
  throw new GraphBreak('unsupported-value', `the inherited property ${key}`);
}

function readOuterProperty(
  t: Tracer,
  base: ObjectVariable | FunctionVariable,
  key: string,
): Variable {
  const { value: object } = base;
  const source = base.source ?? heldFunction(base);
  const written = t.effects.written(object, source, key);
  if (written) return written;
  if (t.effects.hasVariables && isModuleNamespace(object)) {
    throw new GraphBreak('variable-write', `${key} of a module is read after an assignment`);
  }
  if (!readsPlainly(object, key)) throw new GraphBreak('getter', `reading ${key}`);
  const value: unknown = (object as unknown as Record<string, unknown>)[key];
  return t.read({ kind: 'property', base: source, key }, value);
}

function heldFunction({ value }: ObjectVariable | FunctionVariable): Source {
  const name = typeof value === 'function' ? value.name : 'an object';
  return { kind: 'held', value, name };
}

/** The own enumerable string keys of an object literal or a plain object from outside. */
export function plainEntries(t: Tracer, base: Variable): [string, Variable][] {
  if (base.kind === 'newObject') return [...base.entries];
  if (base.kind !== 'object' || isProxy(base.value) || !isPlainObject(base.value)) {
    throw new GraphBreak('unsupported-value', `the properties of a ${base.kind} are copied`);
  }
  const { source, value } = base;
  if (t.effects.touches(value)) {
    throw new GraphBreak('object-write', 'an object is listed that was changed before');
  }
  const keys = Object.keys(value);
  t.guard(`keys ${sourceKey(source)}`, { kind: 'keys', source, keys });
  return keys.map((key) => [key, readOuterProperty(t, base, key)]);
}
