/** A test file that mocks modules or globals, or adds ops, runs in a process of its own: no other file sees it. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sourceFolder } from '../../runtime/errors/own-code.ts';
import { long } from '../longest-first.ts';
import { apart, fromSources, generations, nodeOptions, onOneGpu } from '../projects.ts';

const root = join(import.meta.dirname, '../..');
const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`);

/** Patterns have `*` for a part of a name, and `**` for any folders. */
function matches(pattern: string, file: string): boolean {
  const parts = pattern
    .split('**/')
    .map((part) => part.replaceAll('.', '\\.').replaceAll('*', '[^/]*'));
  return new RegExp(`^${parts.join('(?:.*/)?')}$`).test(file);
}

const filesWith = (pattern: RegExp): string[] =>
  files.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')));

it('files that mock modules or globals, or add ops, run apart', () => {
  const changing = filesWith(/\bvi\.(?:mock|doMock|stubGlobal|resetModules)\(|\bdefineOp\(/);
  expect(changing).not.toEqual([]);
  const alone = [...apart, ...fromSources];
  expect(changing.filter((file) => !alone.some((pattern) => matches(pattern, file)))).toEqual([]);
});

it('files that mock modules or load them anew run from the sources, which Vitest loads itself', () => {
  const changing = filesWith(/\bvi\.(?:mock|doMock|resetModules)\(/);
  expect(changing).not.toEqual([]);
  const listed = (file: string) => fromSources.some((pattern) => matches(pattern, file));
  expect(changing.filter((file) => !listed(file))).toEqual([]);
});

it('other files import compiled sources', () => {
  const compiled = process.env.TOSTATIC_COMPILED_SOURCES;
  expect(sourceFolder).toBe(`${compiled ?? root}/`);
});

it('every pattern of the files that run apart, or on one GPU, matches a file', () => {
  const patterns = [...apart, ...fromSources, ...onOneGpu];
  expect(patterns.filter((pattern) => !files.some((file) => matches(pattern, file)))).toEqual([]);
});

it('every file that begins first exists', () => {
  expect(long.filter((path) => !files.includes(path))).toEqual([]);
});

it('every folder of a generation has files, and is in one alone', () => {
  const folders = new Set(files.map((file) => file.split('/')[1]!));
  const listed = generations.flat();
  expect(listed.filter((folder) => !folders.has(folder))).toEqual([]);
  expect(listed.length).toBe(new Set(listed).size);
});

it('V8 optimizes the code of tests late, where it can be told to', () => {
  expect(process.execArgv).toEqual(expect.arrayContaining([...nodeOptions]));
  if (process.version.startsWith('v20.')) expect(nodeOptions).toHaveLength(2);
});
