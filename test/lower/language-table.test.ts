import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { lowerRefusals } from '../../src/2-lower/lower.ts';

const text = readFileSync(new URL('../../docs/language.md', import.meta.url), 'utf8');

describe('docs/language.md', () => {
  it('lists every refusal with its reason and remedy, and no other', () => {
    const rows = text.match(/^\| `[a-z0-9-]+` \|.*$/gm);
    const expected = Object.entries(lowerRefusals).map(
      ([reason, { explanation, remedy }]) => `| \`${reason}\` | ${explanation} | ${remedy} |`,
    );
    expect(rows).toEqual(expected);
  });
});
