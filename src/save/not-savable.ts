import { CaptureError } from '../../runtime/errors/errors.ts';

/** The error for a function that relies on, or does, something that a file can't express. */
export function notSavable(
  name: string,
  given: string,
  remedy = 'pass and return plain data, and keep everything else outside of the function',
): CaptureError {
  return new CaptureError({
    what: `save: ${name || 'the function'} can't be saved as it was captured`,
    given,
    expected:
      'arguments, results and state of tensors, numbers, texts and other plain values, in arrays and objects',
    remedy,
  });
}
