import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { asShipped } from '../package/as-shipped.ts';

const root = join(import.meta.dirname, '../..');
const readme = join(root, 'README.md');
const howItWorks = join(root, 'docs/how-it-works.md');
const dump = 'source,bytecode,guards,joint,plan';
const [begin, end] = ['<!-- stages:begin -->', '<!-- stages:end -->'];

describe('how-it-works', () => {
  it('shows the stages as the tool prints them (UPDATE_FIXTURES=1 rewrites them)', async () => {
    const node = await asShipped('and TypeScript');
    const printed = execFileSync(
      process.execPath,
      [...node, 'src/cli/main.ts', 'trace', 'examples/stages.ts', '--dump', dump],
      { cwd: root, encoding: 'utf8' },
    );
    const block = `${begin}\n\n\`\`\`text\n${printed.trim()}\n\`\`\`\n\n${end}`;
    const text = readFileSync(howItWorks, 'utf8');
    expect(text).toContain(`--dump ${dump}`);
    const [before, rest] = text.split(begin) as [string, string];
    const after = rest.slice(rest.indexOf(end) + end.length);
    const expected = before + block + after;
    if (process.env.UPDATE_FIXTURES) writeFileSync(howItWorks, expected);
    expect(readFileSync(howItWorks, 'utf8')).toBe(expected);
  });
});

describe('README', () => {
  it('its first example runs as it stands', async () => {
    const node = await asShipped('and TypeScript');
    const text = readFileSync(readme, 'utf8');
    const example = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
    const folder = join(root, 'node_modules/.tostatic-readme-test');
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'example.mts');
    writeFileSync(file, example.replace("'tostatic'", "'../../src/index.ts'"));
    const printed = execFileSync(process.execPath, [...node, file], {
      cwd: root,
      encoding: 'utf8',
    });
    rmSync(folder, { recursive: true });
    const losses = printed
      .trim()
      .split('\n')
      .map((line) => Number(line.split(' ')[1]));
    expect(losses).toHaveLength(301);
    expect(losses.at(-1)).toBeLessThan(0.2 * losses[0]!);
    expect(example.trim().split('\n')).toHaveLength(12);
  });

  it('names commands that CI and contributors run', () => {
    const text = readFileSync(readme, 'utf8');
    for (const command of ['npm ci && npm start', 'npm cit']) expect(text).toContain(command);
  });
});
