/** Work in small pieces: each `next()` does one piece, and the last one returns the result. */
export type Steps<T> = Generator<void, T, void>;

/** Runs all remaining steps now. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
