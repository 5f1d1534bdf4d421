/** The scripts that `tostatic completion` prints, run by the shells that are installed; bash is everywhere. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { asShipped } from '../package/as-shipped.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'tostatic-completion-'));
const node = await asShipped();
writeFileSync(join(folder, 'model.ts'), '');
afterAll(() => rmSync(folder, { recursive: true }));

/** Per shell, a script that prints what completes the words, the last of which may be a beginning. */
const shells: Readonly<Record<string, (script: string, words: readonly string[]) => string>> = {
  bash: (script, words) => `source '${script}'
    COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
    _tostatic; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // Without a terminal its completion system isn't there: its functions print what they are given.
  zsh: (script, words) => `
    compdef() { }
    _files() { print -l -- * }
    compadd() { shift; print -l -- "$@" }
    source '${script}'
    words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; PREFIX='${words.at(-1)}'
    _tostatic | grep -e "^$PREFIX"`,
  fish: (script, words) => `source '${script}'; complete -C '${words.join(' ')}' | cut -f1`,
};

const installed = Object.keys(shells).filter(
  (shell) => spawnSync(shell, ['-c', 'true']).status === 0,
);

it('is tried in bash at least', () => {
  expect(installed).toContain('bash');
});

describe.each(installed)('completion in %s', (shell) => {
  const script = join(folder, `completion.${shell}`);
  const args = [...node, 'src/cli/main.ts', 'completion', shell];
  writeFileSync(script, execFileSync(process.execPath, args, { cwd: root }));
  const flags = shell === 'zsh' ? ['-fc'] : shell === 'fish' ? ['--no-config', '-c'] : ['-c'];
  const completed = (...words: readonly string[]): string[] => {
    const text = shells[shell]!(script, words);
    const { stdout } = spawnSync(shell, [...flags, text], { cwd: folder, encoding: 'utf8' });
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .sort();
  };

  it.each([
    [
      ['tostatic', 'exp'],
      ['explain', 'export'],
    ],
    [['tostatic', '--v'], ['--version']],
    [
      ['tostatic', 'explain', '--h'],
      ['--help', '--html'],
    ],
    [['tostatic', 'explain', 'mod'], ['model.ts']],
    [['tostatic', 'completion', 'z'], ['zsh']],
  ])('%j', (words, expected) => {
    expect(completed(...words)).toEqual(expected);
  });
});
