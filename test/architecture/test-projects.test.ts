/** A test file that mocks modules or globals, or adds ops, runs in a process of its own: no other file sees it. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { apart, generations } from '../projects.ts';

const root = join(import.meta.dirname, '../..');
const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`);

/** A pattern of `apart` is a file's path, or a folder with all its test files. */
function matches(pattern: string, file: string): boolean {
  const folder = pattern.replace(/\*\*\/\*\.test\.ts$/, '');
  return folder === pattern ? file === pattern : file.startsWith(folder);
}

it('files that mock modules or globals, or add ops, run apart', () => {
  const changing = files.filter((file) =>
    /\bvi\.(?:mock|doMock|stubGlobal|resetModules)\(|\bdefineOp\(/.test(
      readFileSync(join(root, file), 'utf8'),
    ),
  );
  expect(changing).not.toEqual([]);
  expect(changing.filter((file) => !apart.some((pattern) => matches(pattern, file)))).toEqual([]);
});

it('every pattern of the files that run apart matches a file', () => {
  expect(apart.filter((pattern) => !files.some((file) => matches(pattern, file)))).toEqual([]);
});

it('every folder of a generation has files, and is in one alone', () => {
  const folders = new Set(files.map((file) => file.split('/')[1]!));
  const listed = generations.flat();
  expect(listed.filter((folder) => !folders.has(folder))).toEqual([]);
  expect(listed.length).toBe(new Set(listed).size);
});
