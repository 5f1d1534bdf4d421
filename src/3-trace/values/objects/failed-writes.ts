/**
 * Assignments and deletions that can never succeed, because their cause can't be reversed: strict code gets the
 * engine's own error, and in sloppy code nothing happens.
 */

import { isProxy } from '../../../guards/plain.ts';
import { sourceKey } from '../../../guards/source-key.ts';
import { isExtensible, type Key, ownAttributes } from '../../heap/made-objects.ts';
import { orRaise } from '../../state/exceptions.ts';
import type { Tracer } from '../../state/tracer.ts';
import { guardIdentity } from '../../state/value-guards.ts';
import { specialized } from '../../variables/unions.ts';
import {
  type FunctionVariable,
  hole,
  type NewArrayVariable,
  type NewObjectVariable,
  type ObjectVariable,
  prototypeOf,
  type Variable,
} from '../../variables/variable.ts';

type Change = 'write' | 'delete';

/** Returns whether the change fails. In strict code, throws the engine's error. */
export function failsToChange(t: Tracer, target: Variable, key: Key, change: Change): boolean {
  const sample = fixedSample(t, target, key, change);
  // Modules are strict code.
  if (sample && t.top.closure.code.strict) orRaise(t, () => attempts[change](sample, key));
  return sample !== undefined;
}

/** Throws the engine's error if the write fails, for functions that throw in sloppy code too. */
export function expectWritable(t: Tracer, target: Variable, key: Key): void {
  const sample = fixedSample(t, target, key, 'write');
  if (sample) orRaise(t, () => attempts.write(sample, key));
}

/** Returns whether the change fails, for functions that report failure instead of throwing. */
export const isFixed = (t: Tracer, target: Variable, key: Key, change: Change): boolean =>
  fixedSample(t, target, key, change) !== undefined;

/** Returns an object for which the change fails with the same message, and guards the conditions of the failure. */
function fixedSample(
  t: Tracer,
  target: Variable,
  key: Key,
  change: Change,
): Record<Key, unknown> | undefined {
  const object = specialized(target);
  const sample = sampleOf(object, key, change);
  if (!sample) return undefined;
  if (object.kind === 'function') guardIdentity(t, object);
  if (object.kind === 'object') {
    const { source, value } = object;
    t.guard(`identity ${sourceKey(source)}`, { kind: 'identity', source, value });
  }
  return sample;
}

const attempts: { readonly [C in Change]: (object: Record<Key, unknown>, key: Key) => void } = {
  write: (object, key) => {
    object[key] = undefined;
  },
  delete: (object, key) => {
    delete object[key];
  },
};

/** Returns an object for which the change fails with the same message; undefined if the change may succeed. */
function sampleOf(object: Variable, key: Key, change: Change): Record<Key, unknown> | undefined {
  switch (object.kind) {
    case 'object':
    case 'function':
      return hasFixed(object, key, change) ? (object.value as never) : undefined;
    case 'newObject':
      return madeSample(object, key, change);
    case 'newArray':
      return arraySample(object, key, change);
    default:
      return undefined;
  }
}

/**
 * Returns whether a pre-existing object's own property is fixed, or the object is frozen and no setter accepts the
 * value.
 */
function hasFixed({ value }: ObjectVariable | FunctionVariable, key: Key, change: Change): boolean {
  if (isProxy(value) || ArrayBuffer.isView(value)) return false;
  const descriptor = Object.getOwnPropertyDescriptor(value, key);
  if (descriptor)
    return (
      !descriptor.configurable && (change === 'delete' || !(descriptor.writable || descriptor.set))
    );
  if (change === 'delete' || !Object.isFrozen(value)) return false;
  let above = Object.getPrototypeOf(value) as object | null;
  for (; above; above = Object.getPrototypeOf(above) as object | null) {
    if (isProxy(above)) return false;
    const inherited = Object.getOwnPropertyDescriptor(above, key);
    if (inherited) return !inherited.set;
  }
  return true;
}

/** Returns a sample of an object created in the trace, with the prototype named in messages. */
function madeSample(
  object: NewObjectVariable,
  key: Key,
  change: Change,
): Record<Key, unknown> | undefined {
  const above = prototypeOf(object);
  if (object.errorType || above?.kind === 'newObject') return undefined;
  const prototype = above === undefined ? Object.prototype : (above?.value ?? null);
  const attributes = ownAttributes(object, key);
  if (!attributes) {
    const isRefused = change === 'write' && !isExtensible(object);
    if (!isRefused || (prototype && key in prototype)) return undefined;
    return Object.preventExtensions(Object.create(prototype) as Record<Key, unknown>);
  }
  const { accessor, writable, configurable, enumerable } = attributes;
  if (change === 'delete' ? configurable : accessor ? accessor.set : writable) return undefined;
  const content = accessor ? { get: () => undefined } : { value: undefined, writable };
  return Object.create(prototype, {
    [key]: { configurable, enumerable, ...content },
  }) as Record<Key, unknown>;
}

function arraySample(
  { fixed, elements }: NewArrayVariable,
  key: Key,
  change: Change,
): Record<Key, unknown> | undefined {
  if (!fixed || elements.includes(hole)) return undefined;
  const sample = Object.freeze(elements.map(() => undefined));
  if (Object.hasOwn(sample, key)) return sample as never;
  return change === 'delete' || key in sample ? undefined : (sample as never);
}
