import { ArgumentError } from '../errors/errors.ts';
import type { Tensor } from './tensor.ts';

/** Tensors made inside the innermost `tidy`; null outside of any. */
let made: Set<Tensor> | null = null;

/** Called once for every tensor that owns memory. */
export function track(tensor: Tensor): void {
  made?.add(tensor);
}

/** True for a tensor that the end of the innermost `tidy` will dispose. */
export function isTracked(tensor: Tensor): boolean {
  return made?.has(tensor) ?? false;
}

/** Lets a tensor outlive the `tidy` it was made in (parameters, gradients, optimizer state). */
export function keep<T extends Tensor>(tensor: T): T {
  made?.delete(tensor);
  return tensor;
}

/**
 * Runs `body` and disposes every tensor made in it, but those in its result (also nested in arrays and
 * plain objects) and those given to `keep`. After an exception everything made is disposed. `body` must
 * not be async: its tensors would be gone before it goes on.
 */
export function tidy<T>(body: () => T): T {
  const outer = made;
  const own = new Set<Tensor>();
  made = own;
  let result: T;
  try {
    result = refuseAsync(body());
  } catch (error) {
    disposeAll(own);
    throw error;
  } finally {
    made = outer;
  }
  for (const tensor of tensorsIn(result)) {
    // A result made here now belongs to the surrounding tidy.
    if (own.delete(tensor)) outer?.add(tensor);
  }
  disposeAll(own);
  return result;
}

function refuseAsync<T>(result: T): T {
  if (!(result instanceof Promise)) return result;
  throw new ArgumentError({
    what: 'tidy: the function is async',
    given: 'a promise',
    expected: 'a function that returns when its work is done',
    remedy: 'await inside is not possible: return the tensors from tidy() and await outside',
  });
}

function disposeAll(tensors: Iterable<Tensor>): void {
  for (const tensor of tensors) tensor.dispose();
}

/** By its form. */
export function isTensor(value: object): value is Tensor {
  return 'holderFor' in value;
}

/** The tensors in a value: itself, or nested in arrays and plain objects. */
export function* tensorsIn(value: unknown, seen = new Set<object>()): Generator<Tensor> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (isTensor(value)) {
    yield value;
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value) || prototype === Object.prototype || prototype === null) {
    for (const item of Object.values(value)) yield* tensorsIn(item, seen);
  }
}
