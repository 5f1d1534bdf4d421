import { TostaticError } from '../../../runtime/errors/errors.ts';

/**
 * Thrown if eager execution would throw this error in the middle of traced code, where no graph remains to
 * continue from natively: the call runs eagerly from the start of the trace. `perhaps`: only a backward that may never
 * run would throw it.
 */
export class RejectedEagerly extends Error {
  override readonly name = 'RejectedEagerly';
  override readonly cause: TostaticError;

  readonly perhaps: boolean;

  constructor(cause: TostaticError, { perhaps = false } = {}) {
    super(cause.message);
    this.cause = cause;
    this.perhaps = perhaps;
  }
}

/** Runs framework code on traced tensors; eager execution would throw the errors that it throws. */
export function asEagerly<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw error instanceof TostaticError ? new RejectedEagerly(error) : error;
  }
}
