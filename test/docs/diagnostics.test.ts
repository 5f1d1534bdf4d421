import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { diagnosticsPage } from '../../src/explain/diagnostics.ts';

it('docs/diagnostics.md lists every reason with cause and remedy, from the code', () => {
  const file = new URL('../../docs/diagnostics.md', import.meta.url);
  if (process.env.UPDATE_FIXTURES) writeFileSync(file, diagnosticsPage());
  expect(readFileSync(file, 'utf8')).toBe(diagnosticsPage());
});
