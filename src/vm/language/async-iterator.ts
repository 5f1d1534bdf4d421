import type { Frame } from '../bytecode/frame.ts';
import { engineCloses } from './engine-closes.ts';
import { iteratorOf, iteratorResult, type Protocol, protocolOf } from './iterator-record.ts';
import { notDelegable, notIterable } from './native-errors.ts';
import { apply, isObject } from './primordials.ts';

/** An iteration of `for await`, whose `next` method is looked up once. */
interface AsyncIteration {
  next(): unknown;
  /** Calls the `return` method and returns its result in an object; undefined if there is no method. */
  return(): { readonly result: unknown } | undefined;
}

/** Returns the async iterator of a value. A value that is only iterable is wrapped, as in the language. */
export function asyncIterator({ closure, pc }: Frame, iterable: unknown): AsyncIteration {
  const fail = () => notIterable(closure.code, pc, iterable, 'async iterable');
  const iterator = asyncIteratorOf(iterable, fail);
  if (!iterator) return fromSync(protocolOf(iterable, fail));
  const { next } = iterator;
  return {
    next: () => apply(next, iterator, []),
    return() {
      const close = iterator.return;
      if (close === undefined || close === null) return undefined;
      return { result: apply(close, iterator, []) };
    },
  };
}

/** Returns undefined if the value has no async iterator. */
function asyncIteratorOf(
  iterable: unknown,
  fail: () => TypeError,
): AsyncIterator<unknown> | undefined {
  const method = (iterable as AsyncIterable<unknown>)[Symbol.asyncIterator];
  if (method === undefined || method === null) return undefined;
  if (typeof method !== 'function') throw fail();
  const iterator = apply(method, iterable, []) as AsyncIterator<unknown>;
  if (isObject(iterator)) return iterator;
  throw new TypeError('Result of the Symbol.asyncIterator method is not an object');
}

/**
 * Returns the object that the engine's own `yield*` iterates over. The iterator is created here, where the error
 * names the user's expression; the engine does the rest.
 */
export function delegateOf(iterable: unknown, isAsync: boolean): object {
  const fail = () => notDelegable(iterable, isAsync);
  const iterator = isAsync ? asyncIteratorOf(iterable, fail) : undefined;
  if (iterator) return { __proto__: null, [Symbol.asyncIterator]: () => iterator };
  const inner = iteratorOf(iterable, fail);
  return { __proto__: null, [Symbol.iterator]: () => inner };
}

/** Implements %AsyncFromSyncIteratorPrototype%: values are awaited, exceptions reject. */
function fromSync({ iterator, next }: Protocol): AsyncIteration {
  return {
    async next() {
      const closes = engineCloses();
      let step: IteratorResult<unknown>;
      try {
        step = read(apply(next, iterator, []));
      } catch (error) {
        if (closes.afterFailure) closeQuietly(iterator);
        throw error;
      }
      const { done, value } = step;
      try {
        return { value: await value, done };
      } catch (error) {
        if (!done && closes.afterRejection) closeQuietly(iterator);
        throw error;
      }
    },
    return: () => ({
      result: (async () => {
        const close = iterator.return;
        if (close === undefined || close === null) return { value: undefined, done: true };
        const { done, value } = read(apply(close, iterator, []));
        return { value: await value, done };
      })(),
    }),
  };
}

/** Calls the `return` method; what it returns or throws is ignored, since an exception is pending. */
function closeQuietly(iterator: Iterator<unknown>): void {
  try {
    const close = iterator.return;
    if (close !== undefined && close !== null) apply(close, iterator, []);
  } catch {}
}

/** Reads `done` before `value`, each once. */
function read(result: unknown): IteratorResult<unknown> {
  const { done, value } = iteratorResult(result) as IteratorResult<unknown>;
  return { done: Boolean(done), value } as IteratorResult<unknown>;
}

export const asyncNext = (iteration: unknown): unknown => (iteration as AsyncIteration).next();

export const asyncReturn = (iteration: unknown): unknown => (iteration as AsyncIteration).return();
