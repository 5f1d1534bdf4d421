/** An environment of Python for tests, made once and kept for later runs in the folder of temporary files. */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { keptFolder } from '../kept-folder.ts';
import { notTested } from '../not-tested.ts';

/** With XLA. */
export const xlaPython = (): string | null => pythonWith(['jax==0.10.2', 'jaxlib==0.10.2']);

/** With ONNX's checker and onnxruntime. */
export const onnxPython = (): string | null => pythonWith(['onnx==1.23.0', 'onnxruntime==1.30.0']);

/**
 * The interpreter of an environment with the packages; null, said loudly, where there is no Python or pip can't install
 * them.
 */
export function pythonWith(packages: readonly string[]): string | null {
  const key = createHash('sha256').update(packages.join()).digest('hex').slice(0, 12);
  const folder = join(keptFolder, `tostatic-python-${key}`);
  const interpreter = join(folder, 'bin/python');
  waitWhileMade(folder);
  if (existsSync(interpreter)) return interpreter;
  const unfinished = `${folder}.${process.pid}`;
  try {
    const pip = makeEnvironment(unfinished);
    const quiet = ['--quiet', '--disable-pip-version-check'];
    run(...pip, 'install', ...quiet, ...packages);
    if (!existsSync(folder)) renameSync(unfinished, folder);
    return interpreter;
  } catch (error) {
    notTested(`against ${packages.join(', ')}`, (error as Error).message);
    return null;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Waits for another process that installs the same packages, and removes what one that was stopped has left. */
function waitWhileMade(folder: string): void {
  const start = `${basename(folder)}.`;
  const isAlive = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const isMade = () => {
    const unfinished = readdirSync(dirname(folder)).filter((name) => name.startsWith(start));
    const left = unfinished.filter((name) => !isAlive(Number(name.slice(start.length))));
    for (const name of left) rmSync(join(dirname(folder), name), { recursive: true, force: true });
    return unfinished.length > left.length;
  };
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (const end = Date.now() + 300_000; Date.now() < end && isMade(); ) {
    Atomics.wait(clock, 0, 0, 100);
  }
}

/** The command of pip for a new environment. Debian's Python alone has none to put into it (python3-venv): pip's own is taken. */
function makeEnvironment(folder: string): readonly [string, ...string[]] {
  const interpreter = join(folder, 'bin/python');
  try {
    run('python3', '-m', 'venv', folder);
    return [interpreter, '-m', 'pip'];
  } catch {
    run('python3', '-m', 'venv', '--clear', '--without-pip', folder);
    return ['python3', '-m', 'pip', '--python', interpreter];
  }
}

/** Throws an error with the last line that a command has printed. */
function run(command: string, ...options: readonly string[]): void {
  const { error, status, stdout, stderr } = spawnSync(command, options, {
    encoding: 'utf8',
    timeout: 300_000,
  });
  if (status === 0) return;
  const said = error ? error.message : (stderr.trim() || stdout.trim()).split('\n').at(-1);
  throw new Error(`${[command, ...options.slice(0, 3)].join(' ')}: ${said}`);
}

/** What takes minutes, for `npm run test:interop` alone; else null, said loudly. */
export function withInterop<T>(what: string, install: () => T | null): T | null {
  if (process.env.INTEROP) return install();
  notTested(what, 'without INTEROP=1 (npm run test:interop)');
  return null;
}
