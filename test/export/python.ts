/** An environment of Python for tests, made once and kept in the folder of temporary files. */

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The interpreter of an environment with the packages, or null, and the reason on the console, where there is no Python or
 * pip can't install them.
 */
export function pythonWith(packages: readonly string[]): string | null {
  const key = createHash('sha256').update(packages.join()).digest('hex').slice(0, 12);
  const folder = join(tmpdir(), `tostatic-python-${key}`);
  const interpreter = join(folder, 'bin/python');
  if (existsSync(interpreter)) return interpreter;
  const unfinished = `${folder}.${process.pid}`;
  try {
    execFileSync('python3', ['-m', 'venv', unfinished], { stdio: 'pipe' });
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages];
    const { status, stderr } = spawnSync(join(unfinished, 'bin/python'), pip, {
      encoding: 'utf8',
      timeout: 110_000,
    });
    if (status !== 0) throw new Error(stderr.trim().split('\n').at(-1));
    if (!existsSync(folder)) renameSync(unfinished, folder);
    return interpreter;
  } catch (error) {
    console.error(`NOT TESTED against ${packages.join(', ')}: ${(error as Error).message}`);
    return null;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** What takes minutes, for `npm run test:interop` alone; else null, and a line on the console. */
export function withInterop<T>(what: string, install: () => T | null): T | null {
  if (process.env.INTEROP) return install();
  console.error(`NOT TESTED without INTEROP=1 (npm run test:interop): ${what}`);
  return null;
}
