import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);

it('every file that docs/architecture.md and design.md name is there', () => {
  const missing = ['docs/architecture.md', 'docs/design.md'].flatMap((page) => {
    const text = readFileSync(new URL(page, root), 'utf8');
    const named = text.match(/`(?:src|runtime|test)\/[\w./-]+`/g) ?? [];
    return named
      .map((each) => each.slice(1, -1))
      .filter((path) => !existsSync(new URL(path, root)))
      .map((path) => `${page}: ${path}`);
  });
  expect(missing).toEqual([]);
});
