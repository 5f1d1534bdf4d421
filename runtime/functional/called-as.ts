import { renamed } from '../errors/naming.ts';
import { tidy } from '../tensor/lifetime.ts';

/**
 * Runs the body of a composite function in `tidy`: an error thrown by an op in it names the function that the user
 * called. Captures trace into this function, unlike `naming`; only its handler runs natively, after the op has thrown.
 */
export function calledAs<T>(name: string, body: () => T): T {
  try {
    return tidy(body);
  } catch (error) {
    throw renamed(error, name);
  }
}
