/** The package as its users get it: packed, and unpacked in a project of its own. */

import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface Installed {
  /** A project whose `node_modules` hold the package and what it depends on, and nothing else. */
  readonly project: string;
  readonly tarball: string;
}

/** Into the folder, by the first process that asks; the others wait for it. */
export async function install(folder: string): Promise<Installed> {
  const project = join(folder, 'project');
  const tarball = join(folder, 'tostatic-0.1.0.tgz');
  await once(join(folder, 'installed'), async () => {
    await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
    const modules = join(project, 'node_modules');
    mkdirSync(join(modules, 'tostatic'), { recursive: true });
    await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', join(modules, 'tostatic')]);
    installDependencies(join(modules, 'tostatic'), modules);
    writeFileSync(join(project, 'package.json'), '{ "name": "user", "type": "module" }\n');
  });
  return { project, tarball };
}

/** As npm does, without asking a registry: every version is the one that is installed here. */
function installDependencies(of: string, modules: string): void {
  const { dependencies = {} } = JSON.parse(
    readFileSync(join(of, 'package.json'), 'utf8'),
  ) as Manifest;
  for (const name of Object.keys(dependencies)) {
    const target = join(modules, name);
    if (existsSync(target)) continue;
    cpSync(join(root, 'node_modules', name), target, { recursive: true, dereference: true });
    installDependencies(target, modules);
  }
}

/** Does it once for all processes of a test run. A failure is told to all of them. */
export async function once(path: string, work: () => Promise<void>): Promise<void> {
  const done = `${path}.done`;
  const failed = `${path}.failed`;
  try {
    mkdirSync(`${path}.lock`);
  } catch {
    while (!existsSync(done)) {
      if (existsSync(failed)) throw new Error(readFileSync(failed, 'utf8'));
      await sleep(100);
    }
    return;
  }
  try {
    await work();
    writeFileSync(done, '');
  } catch (error) {
    writeFileSync(failed, String(error));
    throw error;
  }
}
