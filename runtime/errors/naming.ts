import {
  ArgumentError,
  DisposedError,
  DTypeError,
  ShapeError,
  type TostaticError,
} from './errors.ts';

const ofOps = [ArgumentError, DisposedError, DTypeError, ShapeError];

/** Runs the body of a composite function: an error thrown by an op in it names the function that the user called. */
export function naming<T>(name: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (ofOps.some((type) => error instanceof type)) (error as TostaticError).rename(name);
    throw error;
  }
}
