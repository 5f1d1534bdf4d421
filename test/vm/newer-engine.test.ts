/**
 * Bytecode does what the engine does, and engines change: in Node 24, `for await` closes iterators that it left open
 * before, and builtins have more parameters. So tests of the language run there, too.
 */

import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { newerNode } from '../newer-node.ts';

const root = join(import.meta.dirname, '../..');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const folder = process.versions.node.startsWith('24.')
  ? null
  : newerNode('the language in Node 24');

it.runIf(folder).each([
  ['generated programs', 'test/generated/language-programs.test.ts', 'language programs', 1],
  [
    'builtins that other engines lack',
    'test/trace/builtins/builtins.test.ts',
    'newer',
    process.env.TEST_PART === undefined ? 9 : 2,
  ],
])('%s are captured as a newer engine runs them', async (_what, file, named, least) => {
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}`, NO_COLOR: '1' };
  const args = [vitest, 'run', file, '-t', named, '--maxWorkers=1'];
  const { stdout } = await promisify(execFile)(join(folder!, 'node'), args, { cwd: root, env });
  expect(stdout).toMatch(/Test Files {2}1 passed/);
  expect(Number(/Tests {2}(\d+) passed/.exec(stdout)?.[1])).toBeGreaterThanOrEqual(least);
});
