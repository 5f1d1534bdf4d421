import { existsSync, readFileSync } from 'node:fs';
import { InvariantError } from '../../../runtime/errors/invariant.ts';

/** The version in this package's `package.json`, which lies in a folder above this file, published or not. */
export function packageVersion(): string {
  for (let folder = new URL('./', import.meta.url); ; folder = new URL('../', folder)) {
    const file = new URL('package.json', folder);
    if (existsSync(file)) {
      const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
      if (name === 'tostatic') return version!;
    }
    if (folder.pathname === '/' || folder.href === new URL('../', folder).href) {
      throw new InvariantError('the command lies in no folder of its package');
    }
  }
}
