import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

/** Begins, beside the first tests, what files of every part of a whole run would wait for. */
export function setup(project: TestProject): () => void {
  const { packageFolder } = project.getProvidedContext();
  const script = join(import.meta.dirname, 'install-early-main.ts');
  const installing = spawn(process.execPath, ['--import', 'tsx', script, packageFolder], {
    stdio: 'ignore',
    detached: true,
  });
  return () => {
    // With the commands that it runs.
    if (installing.exitCode === null) process.kill(-installing.pid!);
  };
}
