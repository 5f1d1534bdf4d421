import {
  ArgumentError,
  DisposedError,
  DTypeError,
  ShapeError,
  type TostaticError,
} from './errors.ts';

const ofOps = [ArgumentError, DisposedError, DTypeError, ShapeError];

/** Returns an error thrown by an op; it names the function that the user called. */
export function renamed(error: unknown, name: string): unknown {
  if (ofOps.some((type) => error instanceof type)) (error as TostaticError).rename(name);
  return error;
}

/** Runs the body of a composite function: an error thrown by an op in it names the function that the user called. */
export function naming<T>(name: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw renamed(error, name);
  }
}
