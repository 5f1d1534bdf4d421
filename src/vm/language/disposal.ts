/** The semantics of `using`: the method that disposes of a value, and errors of the method. */

import { isObject } from './primordials.ts';

const disposeKey = Symbol.dispose;

/** The value's method; undefined for null and undefined. Throws the engine's TypeErrors for anything else without one. */
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

/** Returns the error to throw where disposing throws `error` while `suppressed` is being thrown. */
export function suppressedError(error: unknown, suppressed: unknown): Error {
  if (SuppressedError) return new SuppressedError(error, suppressed, message);
  // As compilers make it for engines that have no such class.
  return Object.assign(new Error(message), { name: 'SuppressedError', error, suppressed });
}
