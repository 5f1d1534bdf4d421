import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as ops from '../../runtime/ops/index.ts';
import { isTracedApi } from '../../src/3-trace/builtins/api.ts';

it('captured code may call every public function of tensors', () => {
  const functions = Object.entries(ops).filter(([, value]) => typeof value === 'function');
  expect(functions.length).toBeGreaterThan(300);
  const untraced = functions.filter(([, fn]) => !isTracedApi(fn as () => unknown));
  expect(untraced.map(([name]) => name)).toEqual([]);
});

it('every file that CONTRIBUTING.md names exists', () => {
  const root = new URL('../../', import.meta.url);
  const text = readFileSync(new URL('CONTRIBUTING.md', root), 'utf8');
  const paths = [...text.matchAll(/`((?:src|runtime|test|docs)\/[\w./-]+\.\w+)`/g)];
  expect(paths.length).toBeGreaterThan(10);
  for (const [, path] of paths) expect(readFileSync(new URL(path!, root), 'utf8')).not.toBe('');
});

it('a folder that additions go into has room for one more file', () => {
  const root = new URL('../../', import.meta.url);
  const foldersIn = (folder: string) =>
    readdirSync(new URL(folder, root), { withFileTypes: true })
      .filter((each) => each.isDirectory())
      .map(({ name }) => `${folder}${name}/`);
  const folders = [
    ...foldersIn('runtime/ops/'),
    'src/5-optimize/',
    'test/optimize/fixtures/',
    'src/3-trace/builtins/',
  ];
  const full = folders.filter((folder) => {
    const files = readdirSync(new URL(folder, root)).filter((name) => name.endsWith('.ts'));
    return files.length >= 25;
  });
  expect(full).toEqual([]);
});
