import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DataError } from '../../../runtime/errors/errors.ts';

/** Writes the file of an option such as `--html FILE`. Throws DataError if it can't be written. */
export function writeOutput(file: string, content: string | Uint8Array): void {
  writing(file, () => writeFileSync(file, content));
}

/** Writes a file, and creates its folders. Throws DataError if it can't be written. */
export function writeInto(file: string, content: string): void {
  writing(file, () => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  });
}

function writing(file: string, write: () => void): void {
  try {
    write();
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
