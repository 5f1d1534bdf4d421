/** Packages of npm for tests alone, fetched once and kept in the folder of temporary files; none of their scripts run. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folder of a package (`name@version`), or null, and the reason on the console, where it can't be fetched. */
export function npmPackage(spec: string): string | null {
  const folder = join(tmpdir(), `tostatic-npm-${spec.replaceAll(/[^\w.-]/g, '_')}`);
  if (existsSync(folder)) return folder;
  const unfinished = mkdtempSync(`${folder}.`);
  const run = (command: string, ...args: readonly string[]) => {
    const { status, stderr } = spawnSync(command, args, {
      cwd: unfinished,
      encoding: 'utf8',
      timeout: 110_000,
    });
    if (status !== 0) throw new Error(stderr.trim().split('\n').at(-1));
  };
  try {
    run('npm', 'pack', '--ignore-scripts', '--silent', spec);
    run('tar', 'xzf', readdirSync(unfinished)[0]!);
    if (!existsSync(folder)) renameSync(join(unfinished, 'package'), folder);
    return folder;
  } catch (error) {
    console.error(`NOT TESTED with ${spec}: ${(error as Error).message}`);
    return null;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
