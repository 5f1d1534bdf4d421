import { iteratorOf } from './iterator-record.ts';
import { notDelegable } from './native-errors.ts';
import { apply, isObject } from './primordials.ts';

/** The value of a `return` call on a generator whose body continues in its `finally`. */
export class Returned {
  readonly #isOne = true;

  constructor(readonly value: unknown) {}

  static is(result: unknown): result is Returned {
    return typeof result === 'object' && result !== null && #isOne in result;
  }
}

/**
 * A `yield` in a `finally` that a `return` has entered. The generator delegates to this object, so that the value
 * of another `return` can be recognized and the body can continue once more.
 */
interface ReturnedYield {
  readonly returned: Returned | undefined;
  [Symbol.iterator](): Iterator<unknown>;
}

type Method = (...args: unknown[]) => unknown;

/** Performs `yield value`. */
export function yieldOnce(value: unknown): ReturnedYield {
  let isOut = false;
  const iterator = {
    __proto__: null,
    returned: undefined as Returned | undefined,
    [Symbol.iterator]: (): Iterator<unknown> => iterator,
    next(sent: unknown) {
      const done = isOut;
      isOut = true;
      return { value: done ? sent : value, done };
    },
    throw(error: unknown) {
      throw error;
    },
    return(value: unknown) {
      iterator.returned = new Returned(value);
      return { value: undefined, done: true };
    },
  };
  return iterator;
}

/**
 * Performs `yield* iterable` with the same calls and property reads, except that `done` is read twice if the
 * iterator's `return` says that it isn't done.
 */
export function yieldAll(iterable: unknown): ReturnedYield {
  let inner: Iterator<unknown>;
  const iterator = {
    __proto__: null,
    returned: undefined as Returned | undefined,
    [Symbol.iterator](): Iterator<unknown> {
      inner = iteratorOf(iterable, () => notDelegable(iterable, false));
      return iterator as unknown as Iterator<unknown>;
    },
    get next() {
      return forwarded(inner, inner.next);
    },
    get throw() {
      return forwarded(inner, inner.throw);
    },
    get return(): unknown {
      const method: unknown = inner.return;
      if (method === undefined || method === null) return (value: unknown) => end(value);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => {
        const result = apply(method as Method, inner, args) as IteratorResult<unknown>;
        // Called without an argument, the iterator is closed because it has no `throw`: nothing is read then.
        if (args.length === 0 || !isObject(result) || !result.done) return result;
        return end(result.value);
      };
    },
  };
  const end = (value: unknown) => {
    iterator.returned = new Returned(value);
    return { value: undefined, done: true };
  };
  return iterator;
}

/** Forwards a method as it is: if it isn't callable, the engine throws. */
function forwarded(inner: object, method: unknown): unknown {
  if (typeof method !== 'function') return method;
  return (...args: unknown[]) => apply(method as Method, inner, args);
}
