/** A bug in tostatic itself, never the user's mistake. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
  constructor(message: string) {
    super(`${message} (this is a bug in tostatic, not in your code)`);
  }
}

export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** Ends a switch over a union, so that a missing case fails to compile. */
export function assertNever(value: never, what: string): never {
  throw new InvariantError(`unexpected ${what}: ${JSON.stringify(value)}`);
}
