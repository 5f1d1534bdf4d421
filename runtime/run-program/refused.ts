import { ArgumentError, DataError, type TostaticError } from '../errors/errors.ts';

/** A check has failed, or a kernel has rejected the values that it was given. */
export function isRefused(error: unknown): error is TostaticError {
  return error instanceof ArgumentError || error instanceof DataError;
}
