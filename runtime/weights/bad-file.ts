import { DataError } from '../errors/errors.ts';

/** A weight file that breaks the rules of its format: where in it, what was found, what belongs there. */
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

/** At most the first 60 characters of what a file says, for messages. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
