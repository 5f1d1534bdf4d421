import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const readme = join(root, 'README.md');
const dump = 'source,bytecode,guards,joint,plan';
const [begin, end] = ['<!-- stages:begin -->', '<!-- stages:end -->'];

describe('README', () => {
  it('shows the stages as the tool prints them (UPDATE_FIXTURES=1 rewrites them)', () => {
    const printed = execFileSync(
      process.execPath,
      ['--import', 'tsx', 'src/cli/main.ts', 'trace', 'examples/stages.ts', '--dump', dump],
      { cwd: root, encoding: 'utf8' },
    );
    const block = `${begin}\n\n\`\`\`text\n${printed.trim()}\n\`\`\`\n\n${end}`;
    const text = readFileSync(readme, 'utf8');
    expect(text).toContain(`--dump ${dump}`);
    const [before, rest] = text.split(begin) as [string, string];
    const after = rest.slice(rest.indexOf(end) + end.length);
    const expected = before + block + after;
    if (process.env.UPDATE_FIXTURES) writeFileSync(readme, expected);
    expect(readFileSync(readme, 'utf8')).toBe(expected);
  });

  it('its first example runs as it stands', () => {
    const text = readFileSync(readme, 'utf8');
    const example = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
    const folder = join(root, 'node_modules/.tostatic-readme-test');
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'example.ts');
    writeFileSync(file, example.replace("'tostatic'", "'../../src/index.ts'"));
    const printed = execFileSync(process.execPath, ['--import', 'tsx', file], {
      cwd: root,
      encoding: 'utf8',
    });
    rmSync(folder, { recursive: true });
    expect(printed).toContain('1 call, 1 trace, 1 subgraph with 9 ops, 0 graph breaks');
  });

  it('names every folder of the package', () => {
    const text = readFileSync(readme, 'utf8');
    for (const name of ['1-capture', '2-lower', '3-trace', '4-differentiate', '5-optimize']) {
      expect(text).toContain(`src/${name}`);
    }
  });
});
