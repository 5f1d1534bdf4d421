import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { asShipped } from '../package/as-shipped.ts';

const root = join(import.meta.dirname, '../..');

it('the quickstart trains with one planned subgraph and tells about its memory', async () => {
  const node = await asShipped('and TypeScript');
  const example = join(root, 'examples/quickstart.ts');
  const printed = execFileSync(process.execPath, [...node, example], {
    cwd: root,
    encoding: 'utf8',
  });
  const losses = Array.from(printed.matchAll(/^step \d: loss (\d\.\d{4})$/gm), ([, loss]) => {
    return Number(loss);
  });
  expect(losses).toHaveLength(3);
  expect(losses).toEqual(losses.toSorted((a, b) => b - a));
  expect(printed).toContain('3 calls, 1 trace, 1 subgraph');
  // The input and the weight: 64·32 and 32·16 numbers of four bytes.
  expect(printed).toMatch(/^10240 bytes are allocated/m);
});
