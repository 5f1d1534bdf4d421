/** The samples of README and docs are correct TypeScript for the packed package, and run with it as they stand. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { installed } from '../package/installed.ts';
import { checkedOnly, moduleOf, runnable, samples } from './samples.ts';

const modules = join(import.meta.dirname, '../../node_modules');
let folder: string;

beforeAll(async () => {
  folder = join((await installed()).project, 'samples');
  mkdirSync(folder, { recursive: true });
  for (const { name, code } of samples) {
    const [before, after] = runnable[name] ?? [checkedOnly[name]?.[1]];
    writeFileSync(join(folder, `${name}.mts`), moduleOf(code, before, after));
  }
}, 240_000);

it('every sample either runs here or says why not', () => {
  const known = [...Object.keys(runnable), ...Object.keys(checkedOnly)].sort();
  expect(samples.map(({ name }) => name).sort()).toEqual(known);
});

it('samples type-check under strict', { timeout: 60_000 }, () => {
  // Of an optional peer and of Bun, which are not installed, users' compilers know the types.
  const absent = ['onnxruntime-web/webgpu', 'bun'];
  writeFileSync(
    join(folder, 'peers.d.ts'),
    absent.map((name) => `declare module '${name}';\n`).join(''),
  );
  const config = {
    compilerOptions: {
      ...{ target: 'es2022', module: 'nodenext', strict: true, noEmit: true, skipLibCheck: true },
      lib: ['es2023', 'esnext.disposable', 'dom', 'dom.asynciterable'],
      ...{ types: ['node'], typeRoots: [join(modules, '@types')] },
    },
    include: ['*.mts', 'peers.d.ts'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = [join(modules, 'typescript/bin/tsc'), '-p', folder];
  const { stdout } = spawnSync(process.execPath, tsc, { cwd: folder, encoding: 'utf8' });
  expect(stdout).toBe('');
});

it('samples run', { timeout: 120_000 }, () => {
  const names = JSON.stringify(Object.keys(runnable));
  writeFileSync(
    join(folder, 'main.mjs'),
    `for (const name of ${names}) {
  try {
    await import(\`./\${name}.mts\`);
  } catch (error) {
    console.error(\`SAMPLE \${name}: \${error}\`);
  }
}\n`,
  );
  const tsx = ['--import', join(modules, 'tsx/dist/loader.mjs'), 'main.mjs'];
  const stderr = execFileSync('sh', ['-c', '"$0" "$@" 2>&1 >/dev/null', process.execPath, ...tsx], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(stderr.split('SAMPLE ').slice(1)).toEqual([]);
});
