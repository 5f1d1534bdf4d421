/** What every phase makes of a function, held by files: UPDATE_FIXTURES=1 rewrites them. */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const folder = join(import.meta.dirname, 'fixtures');
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3));

const program = join(import.meta.dirname, 'print-fixtures.ts');
const output = execFileSync(process.execPath, ['--import', 'tsx', program, ...names], {
  encoding: 'utf8',
});
const printed = JSON.parse(output) as Readonly<Record<string, string>>;

describe('the stages of', () => {
  for (const name of names) {
    it(name.replaceAll('-', ' '), () => {
      const file = join(folder, `${name}.expected.txt`);
      if (process.env.UPDATE_FIXTURES) writeFileSync(file, printed[name]!);
      expect(existsSync(file), `${file} is there; UPDATE_FIXTURES=1 makes it`).toBe(true);
      expect(printed[name]).toBe(readFileSync(file, 'utf8'));
    });
  }

  it('no function that is gone', () => {
    const expected = readdirSync(folder).filter((file) => file.endsWith('.expected.txt'));
    expect(expected.map((file) => file.replace('.expected.txt', ''))).toEqual(names);
  });
});
