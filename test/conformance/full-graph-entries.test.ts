import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** Tests of one program and of files carry the numbers of the catalogue in their titles. */
it('each entry from 74 to 100 of the catalogue has a test by its number', () => {
  const root = join(import.meta.dirname, '..');
  const titles = ['full-graph', 'input-spec', 'save'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.ts'))
      .flatMap((name) => {
        const text = readFileSync(join(root, folder, name), 'utf8');
        return Array.from(text.matchAll(/'([^'\n]*\([\d, –-]+\))'/g), ([, title]) => title!);
      }),
  );
  const found = titles.flatMap((title) => {
    const [, numbers = ''] = /\(([\d, –-]+)\)$/.exec(title) ?? [];
    return numbers.split(/, ?/).flatMap((part) => {
      const [from, to = from] = part.split(/[–-]/).map(Number);
      return from ? Array.from({ length: to! - from + 1 }, (_, i) => from + i) : [];
    });
  });
  const missing = Array.from({ length: 27 }, (_, i) => 74 + i).filter((n) => !found.includes(n));
  expect(missing).toEqual([]);
});
