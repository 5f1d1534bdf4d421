/** Functions of Object and of Function.prototype. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { sameValueZero } from '../equality.ts';
import { constantOf, isNullish, truthiness } from '../facts.ts';
import { expand } from '../iterators.ts';
import { hasProperty, plainEntries, plainKeys, readProperty } from '../properties.ts';
import type { Tracer } from '../tracer.ts';
import {
  known,
  type NewObjectVariable,
  newArray,
  undefinedVariable,
  type Variable,
} from '../variable.ts';
import { writeProperty } from '../write-property.ts';
import type { BuiltinTable } from './builtin.ts';

function propertyName(t: Tracer, key: Variable | undefined): string {
  const name = key && constantOf(t, key);
  if (typeof name === 'symbol') throw new GraphBreak('unsupported-value', 'a symbol as key');
  return String(name);
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
    const { name } = target;
    t.journal.note(() => Object.assign(target, { name }));
    target.name = constantOf(t, value) as string;
    return target;
  }
  throw new GraphBreak('native-call', 'Object.defineProperty() is native code');
}

function fromEntries(t: Tracer, items: Variable): Variable {
  const made: NewObjectVariable = { kind: 'newObject', entries: new Map() };
  for (const item of expand(t, items)) {
    const [key, value] = [readProperty(t, item, '0'), readProperty(t, item, '1')];
    made.entries.set(propertyName(t, key), value);
  }
  return made;
}

function assign(t: Tracer, [target, ...sources]: readonly Variable[]): Variable {
  if (!target) throw new GraphBreak('throw', 'Object.assign() without a target');
  for (const source of sources) {
    if (source.kind === 'constant' && isNullish(t, source)) continue;
    for (const [key, value] of plainEntries(t, source)) writeProperty(t, target, key, value);
  }
  return target;
}

export const objectBuiltins: BuiltinTable = [
  [
    Boolean as unknown as () => boolean,
    (t, _receiver, [value]) => known(value !== undefined && truthiness(t, value)),
  ],
  [Object.defineProperty, (t, _receiver, args) => nameClosure(t, args)],
  [
    Object.keys,
    (t, _receiver, [object]) => object && newArray(plainKeys(t, object).map((key) => known(key))),
  ],
  [
    Object.values,
    (t, _receiver, [object]) =>
      object && newArray(plainEntries(t, object).map(([, value]) => value)),
  ],
  [
    Object.entries,
    (t, _receiver, [object]) =>
      object &&
      newArray(plainEntries(t, object).map(([key, value]) => newArray([known(key), value]))),
  ],
  [Object.fromEntries, (t, _receiver, [items]) => items && fromEntries(t, items)],
  [Object.assign, (t, _receiver, args) => assign(t, args)],
  [
    Object.is,
    (t, _receiver, [a = undefinedVariable, b = undefinedVariable]) => {
      if (a.kind !== 'constant' || b.kind !== 'constant') {
        const isSame = sameValueZero(t, a, b);
        const areNumbers = a.kind === 'symbolic' || b.kind === 'symbolic';
        // Zeros have a sign.
        if (!isSame || !areNumbers || !sameValueZero(t, a, known(0))) return known(isSame);
      }
      return known(Object.is(constantOf(t, a), constantOf(t, b)));
    },
  ],
  [
    Object.hasOwn,
    (t, _receiver, [object, key]) => object && hasProperty(t, object, propertyName(t, key), true),
  ],
  [
    Object.prototype.hasOwnProperty,
    (t, receiver, [key]) => hasProperty(t, receiver, propertyName(t, key), true),
  ],
  [
    String.prototype.replace,
    (t, receiver, [pattern, replacement]) => {
      if (pattern?.kind !== 'regexp' || replacement?.kind !== 'constant') return undefined;
      const [text, by] = [constantOf(t, receiver), constantOf(t, replacement)];
      if (typeof text !== 'string' || typeof by !== 'string') return undefined;
      return known(text.replace(new RegExp(pattern.pattern, pattern.flags), by));
    },
  ],
  [
    RegExp.prototype.test,
    (t, receiver, [text]) => {
      // With these flags it would remember where it stopped.
      if (receiver.kind !== 'regexp' || /[gy]/.test(receiver.flags) || !text) return undefined;
      const { pattern, flags } = receiver;
      return known(new RegExp(pattern, flags).test(String(constantOf(t, text))));
    },
  ],
  [
    Function.prototype.bind,
    (_t, target, [receiver = undefinedVariable, ...args]) => {
      if (target.kind !== 'function' && target.kind !== 'closure' && target.kind !== 'bound') {
        return undefined;
      }
      return { kind: 'bound', target, receiver, args };
    },
  ],
];
