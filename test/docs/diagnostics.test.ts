import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnosticsPage, errorClasses } from './diagnostics-page.ts';

it('docs/diagnostics.md lists every reason with cause and remedy, from the code', () => {
  const file = new URL('../../docs/diagnostics.md', import.meta.url);
  if (process.env.UPDATE_FIXTURES) writeFileSync(file, diagnosticsPage());
  expect(readFileSync(file, 'utf8')).toBe(diagnosticsPage());
});

it('lists every class of errors that the code defines', () => {
  const root = join(import.meta.dirname, '../..');
  const files = ['runtime', 'src'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  );
  const declared = files.flatMap((text) =>
    Array.from(
      text.matchAll(/class (\w+) extends (\w+)/g),
      ([, name, base]) => [name!, base!] as const,
    ),
  );
  const known = new Set(['TostaticError', 'InvariantError']);
  // A class may stand before the one that it extends.
  for (let size = 0; size < known.size; ) {
    size = known.size;
    for (const [name, base] of declared) if (known.has(base)) known.add(name);
  }
  known.delete('TostaticError');
  expect(Object.keys(errorClasses).sort()).toEqual([...known].sort());
});
