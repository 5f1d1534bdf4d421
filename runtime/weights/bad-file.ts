import { DataError } from '../errors/errors.ts';

/** Returns the error for a malformed weight file: the location, what was found, and what was expected. */
export function badWeights(
  format: string,
  where: string,
  given: string,
  expected: string,
  cause?: unknown,
): DataError {
  return new DataError({
    what: `${format}: the file is damaged or of another format, at ${where}`,
    given,
    expected,
    remedy: 'write it again, or get another copy of the file',
    cause,
  });
}

/** Returns at most the first 60 characters of a value from a file, for messages. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
