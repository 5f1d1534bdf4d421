import type { AnyFunction } from '../script/captured-function.ts';
import type { Evaluate } from './entry-probe.ts';

/**
 * Finds a method's home object along the prototypes of a receiver. The engine doesn't expose it, so a tracer that
 * reaches `super` in a method without `homeObject` calls this with the `this` of the call.
 */
export function findHomeObject(fn: AnyFunction, receiver: unknown): object | undefined {
  let object = receiver === null || receiver === undefined ? null : Object(receiver);
  for (; object; object = Object.getPrototypeOf(object)) if (owns(object, fn)) return object;
  return undefined;
}

/** Returns the home object of a method of the class that `evaluate` finds by its name. */
export function homeObjectInClass(
  fn: AnyFunction,
  className: string | undefined,
  evaluate: Evaluate,
): object | undefined {
  if (className === undefined) return undefined;
  try {
    const owner = evaluate(className);
    if (typeof owner !== 'function') return undefined;
    return [owner.prototype, owner].find((object) => object && owns(object, fn));
  } catch {
    return undefined; // the engine dropped the variable, since nothing in the class reads it
  }
}

const owns = (object: object, fn: AnyFunction): boolean =>
  Reflect.ownKeys(object).some((key) => {
    const property = Object.getOwnPropertyDescriptor(object, key);
    return property?.value === fn || property?.get === fn || property?.set === fn;
  });
