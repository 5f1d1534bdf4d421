import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { asShipped } from '../package/as-shipped.ts';

const root = join(import.meta.dirname, '../..');

it('the file trains on as the function does', async () => {
  const node = await asShipped('and TypeScript');
  const example = join(root, 'examples/save-load.ts');
  const printed = execFileSync(process.execPath, [...node, example], {
    cwd: root,
    encoding: 'utf8',
  });
  const losses = (name: string) =>
    Array.from(printed.matchAll(new RegExp(`^${name}, step \\d: (.*)$`, 'gm')), ([, loss]) => loss);
  expect(losses('the file')).toHaveLength(3);
  expect(losses('the file')).toEqual(losses('the function'));
  expect(losses('before saving')).not.toEqual(losses('the file'));
  expect(printed).toMatch(/matmul.*# .*\.ts:\d+/);
});
