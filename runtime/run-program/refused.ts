import { ArgumentError, DataError, type TostaticError } from '../errors/errors.ts';

/** Whether a check has failed or a kernel has rejected its values. */
export function isRefused(error: unknown): error is TostaticError {
  return error instanceof ArgumentError || error instanceof DataError;
}
