import {
  ArgumentError,
  DisposedError,
  DTypeError,
  ShapeError,
  type TostaticError,
} from './errors.ts';

const ofOps = [ArgumentError, DisposedError, DTypeError, ShapeError];

/** Runs what a function is composed of: an error of an op in it names the function, which the user called. */
export function naming<T>(name: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (ofOps.some((type) => error instanceof type)) (error as TostaticError).rename(name);
    throw error;
  }
}
