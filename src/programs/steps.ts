/** Work in small pieces: each `next()` does one of them; the result comes with the last. */
export type Steps<T> = Generator<void, T, void>;

/** Runs all remaining steps now. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
