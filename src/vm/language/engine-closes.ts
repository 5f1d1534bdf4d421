interface Closing {
  /** After it yielded a value that rejects: in ECMAScript since 2025, in V8 since Node 24. */
  readonly afterRejection: boolean;
  /** After its `next` threw, or its result can't be read: in V8 since Node 24, in no specification. */
  readonly afterFailure: boolean;
}

let known: Closing | undefined;

/** Returns when the engine closes a synchronous iterator that is iterated asynchronously. */
export function engineCloses(): Closing {
  if (known) return known;
  // A value that can't even be awaited rejects without a wait.
  const value = Object.defineProperty(Promise.resolve(), 'constructor', { get: fail });
  const afterRejection = isClosed(() => ({ done: false, value }));
  known = { afterRejection, afterFailure: isClosed(fail) };
  return known;
}

function fail(): never {
  throw new Error();
}

function isClosed(next: () => IteratorResult<unknown>): boolean {
  let closed = false;
  const close = (): IteratorResult<unknown> => {
    closed = true;
    return { done: true, value: undefined };
  };
  const iterable = { [Symbol.iterator]: () => ({ next, return: close }) };
  const loop = async (): Promise<void> => {
    for await (const _ of iterable) return;
  };
  void loop().catch(() => undefined);
  return closed;
}
