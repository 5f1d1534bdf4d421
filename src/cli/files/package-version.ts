import { existsSync, readFileSync } from 'node:fs';

/** The version in this package's `package.json`, which lies above the command's file. */
export function packageVersion(): string {
  for (const path of ['../../../package.json', '../../package.json']) {
    const file = new URL(path, import.meta.url);
    if (!existsSync(file)) continue;
    const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
    if (name === 'tostatic') return version!;
  }
  return 'unknown';
}
