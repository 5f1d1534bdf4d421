import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installed } from './installed.ts';

const ours = join(import.meta.dirname, '../../node_modules');

let project: string;
let home: string;

beforeAll(async () => {
  ({ project } = await installed());
  home = mkdtempSync(join(project, 'init-'));
}, 240_000);
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Makes a project with the packed command, and puts what `npm install` would install where it looks for it. */
function made(name: string, ...options: readonly string[]): string {
  const command = join(project, 'node_modules/tostatic/dist/src/cli/main.js');
  const printed = execFileSync(process.execPath, [command, 'init', name, ...options], {
    cwd: home,
    encoding: 'utf8',
  });
  expect(printed).toContain('npm install && npm start');
  const folder = join(home, name);
  const { devDependencies, dependencies } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>;
  expect(Object.keys(dependencies!)).toEqual(['tostatic']);
  for (const each of Object.keys(devDependencies!)) {
    const place = join(home, 'node_modules', each);
    mkdirSync(dirname(place), { recursive: true });
    if (!existsSync(place)) symlinkSync(join(ours, each), place);
  }
  return folder;
}

const run = (folder: string, tool: string, ...args: readonly string[]): string =>
  execFileSync(process.execPath, [join(ours, tool), ...args], { cwd: folder, encoding: 'utf8' });

it('a project for Node type-checks, and trains in one command', { timeout: 120_000 }, () => {
  const folder = made('my-model');
  expect(run(folder, 'typescript/bin/tsc', '--types', '')).toBe('');
  const printed = run(folder, 'tsx/dist/cli.mjs', 'src/main.ts');
  expect(printed).toContain('387 parameters');
  expect(printed).toContain('1 trace, 1 subgraph');
  expect(Number(/accuracy ([\d.]+) %/.exec(printed)![1])).toBeGreaterThan(90);
});

it('the printed commands enter a folder whose name a shell would take apart', () => {
  const printed = execFileSync(
    process.execPath,
    [join(project, 'node_modules/tostatic/dist/src/cli/main.js'), 'init', "it's new"],
    { cwd: home, encoding: 'utf8' },
  );
  const enter = /cd .*(?= && npm install)/.exec(printed)![0];
  expect(execFileSync('sh', ['-c', `${enter} && ls`], { cwd: home, encoding: 'utf8' })).toContain(
    'package.json',
  );
});

it('a project for pages type-checks and is bundled', { timeout: 120_000 }, () => {
  const folder = made('my-page', '--template', 'vite');
  expect(run(folder, 'typescript/bin/tsc', '--types', '')).toBe('');
  run(folder, 'vite/bin/vite.js', 'build', '--logLevel', 'warn');
  expect(readdirSync(join(folder, 'dist')).sort()).toEqual(['assets', 'index.html']);
});

it('a folder in use is left as it is', () => {
  const command = join(project, 'node_modules/tostatic/dist/src/cli/main.js');
  const attempt = () =>
    execFileSync(process.execPath, [command, 'init', '.'], { cwd: project, stdio: 'pipe' });
  expect(attempt).toThrow(/ArgumentError: init: the folder is not empty/);
});
