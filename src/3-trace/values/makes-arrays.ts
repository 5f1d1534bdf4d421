import { isPlainArray, isProxy } from '../../guards/plain.ts';
import type { Tracer } from '../state/tracer.ts';
import { guardIdentity } from '../state/value-guards.ts';
import { specialized } from '../variables/unions.ts';
import type { Variable } from '../variables/variable.ts';

/**
 * Returns whether `receiver.of` and `receiver.from` create built-in arrays; other constructors create their own
 * objects.
 */
export function makesArrays(t: Tracer, receiver: Variable): boolean {
  if (['closure', 'class', 'bound'].includes(receiver.kind)) return false;
  if (receiver.kind !== 'function') return receiver.kind !== 'object';
  guardIdentity(t, receiver);
  return (receiver.value as unknown) === Array;
}

/**
 * Returns whether the value is an instance of a user's array class, whose constructor creates the results of array
 * methods.
 */
export function isOfArrayClass(variable: Variable): boolean {
  const array = specialized(variable);
  if (array.kind === 'newArray') {
    return array.own !== undefined || array.named?.has('constructor') === true;
  }
  if (array.kind !== 'object' || isProxy(array.value) || !Array.isArray(array.value)) return false;
  return !isPlainArray(array.value);
}

/** Returns whether the value is a class that extends `Array`. */
export function isArrayClass(variable: Variable): boolean {
  const type = specialized(variable);
  if (type.kind === 'class') {
    const { parent } = type;
    const isArray = parent?.kind === 'function' && (parent.value as unknown) === Array;
    return isArray || (parent !== null && isArrayClass(parent));
  }
  if (type.kind !== 'function' || isProxy(type.value)) return false;
  const prototype: unknown = Object.getOwnPropertyDescriptor(type.value, 'prototype')?.value;
  return Object.prototype.isPrototypeOf.call(Array.prototype, prototype as object);
}
