import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Returns the text of the tsconfig.json that esbuild reads for the files of a folder: the closest one, in it or above
 * it. Files that it extends are not read.
 */
export async function nearestTsconfig(folder: string): Promise<string | undefined> {
  try {
    return await readFile(join(folder, 'tsconfig.json'), 'utf8');
  } catch {
    const parent = dirname(folder);
    return parent === folder ? undefined : nearestTsconfig(parent);
  }
}
