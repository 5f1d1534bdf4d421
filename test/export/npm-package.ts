/** Packages of npm for tests alone, installed once into a folder of temporary files; none of their scripts run. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { keptFolder } from '../kept-folder.ts';
import { notTested } from '../not-tested.ts';

/** The folder of a package (`name@version`), or null, said loudly, where it can't be installed. */
export function npmPackage(spec: string): string | null {
  const folder = join(keptFolder, `tostatic-npm-${spec.replaceAll(/[^\w.-]/g, '_')}`);
  const own = join(folder, 'node_modules', spec.slice(0, spec.lastIndexOf('@')));
  if (existsSync(own)) return own;
  const unfinished = mkdtempSync(`${folder}.`);
  try {
    const quiet = ['--no-audit', '--no-fund', '--silent', '--ignore-scripts'];
    const { status, stderr } = spawnSync('npm', ['install', ...quiet, '--prefix', '.', spec], {
      cwd: unfinished,
      encoding: 'utf8',
      timeout: 240_000,
    });
    if (status !== 0) throw new Error(stderr.trim().split('\n').at(-1));
    if (!existsSync(folder)) renameSync(unfinished, folder);
    return own;
  } catch (error) {
    notTested(`with ${spec}`, (error as Error).message);
    return null;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
