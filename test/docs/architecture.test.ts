import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

it('docs/architecture.md lists every folder', () => {
  const text = readFileSync(new URL('docs/architecture.md', root), 'utf8');
  const table = text.slice(text.indexOf('## The folders'), text.indexOf('## Where is'));
  const named = [...table.matchAll(/`([^`]+)`/g)].map(([, path]) => path!.split('/').at(-1));
  const folders = ['src', 'runtime'].flatMap((parent) =>
    readdirSync(new URL(parent, root), { withFileTypes: true }).filter((each) =>
      each.isDirectory(),
    ),
  );
  expect(folders.map(({ name }) => name).filter((name) => !named.includes(name))).toEqual([]);
});
