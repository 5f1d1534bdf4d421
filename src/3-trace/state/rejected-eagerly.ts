import { TostaticError } from '../../../runtime/errors/errors.ts';

/**
 * Eager execution throws this error in the middle of what was traced, where nothing of the graph is left to
 * continue with natively: the call runs eagerly from the start of the trace.
 */
export class RejectedEagerly extends Error {
  override readonly name = 'RejectedEagerly';
  override readonly cause: TostaticError;

  constructor(cause: TostaticError) {
    super(cause.message);
    this.cause = cause;
  }
}

/** Runs a part of the framework over traced tensors; what it rejects, eager execution rejects. */
export function asEagerly<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw error instanceof TostaticError ? new RejectedEagerly(error) : error;
  }
}
