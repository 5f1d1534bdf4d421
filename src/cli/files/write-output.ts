import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { DataError } from '../../../runtime/errors/errors.ts';

/** Writes the file of an option such as `--html FILE`. Throws DataError if it can't be written. */
export function writeOutput(file: string, content: string | Uint8Array): void {
  try {
    writeFileSync(file, content);
  } catch (cause) {
    throw new DataError({
      what: 'the output could not be written',
      given: `${resolve(file)}: ${(cause as Error).message}`,
      expected: 'a file in an existing folder with write permission',
      remedy: 'create the folder, or name another file',
      cause,
    });
  }
}
