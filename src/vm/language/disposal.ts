/** Semantics of `using`: the dispose method of a value, and its errors. */

import { isObject } from './primordials.ts';

const disposeKey = Symbol.dispose;

/**
 * Returns the value's dispose method; undefined for null and undefined. Throws the engine's TypeErrors for other
 * values without one.
 */
export function disposer(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (!isObject(value)) throw new TypeError('An object is expected with `using` declarations');
  const method: unknown = (value as { [disposeKey]?: unknown })[disposeKey];
  if (typeof method === 'function') return method;
  throw new TypeError('Symbol(Symbol.dispose) is not a function');
}

interface SuppressedErrors {
  readonly SuppressedError?: new (error: unknown, suppressed: unknown, message: string) => Error;
}

const { SuppressedError } = globalThis as SuppressedErrors;
const message = 'An error was suppressed during disposal';

/** Returns the error to throw if disposing throws `error` while `suppressed` is pending. */
export function suppressedError(error: unknown, suppressed: unknown): Error {
  if (SuppressedError) return new SuppressedError(error, suppressed, message);
  // The same object as compilers create for engines without this class.
  return Object.assign(new Error(message), { name: 'SuppressedError', error, suppressed });
}
