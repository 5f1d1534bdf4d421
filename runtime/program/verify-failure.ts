import { DataError } from '../errors/errors.ts';

/** Refuses what somebody else made: what was found, and what a program that runs has. */
export type Fail = (given: string, expected: string) => never;

export function failureAt(where: string): Fail {
  return (given, expected) => {
    throw new DataError({
      what: `load: a program that cannot run, at ${where}`,
      given,
      expected,
      remedy: 'save it again, or get another copy of the file',
    });
  };
}
