import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as data from '../../runtime/data/index.ts';
import * as distributions from '../../runtime/distributions/index.ts';
import * as nn from '../../runtime/nn/index.ts';
import * as optim from '../../runtime/optim/index.ts';

const text = readFileSync(new URL('../../docs/nn.md', import.meta.url), 'utf8');

/** The names in the tables between one heading and the next. */
function named(heading: string): string[] {
  const section = text.split(`\n## \`${heading}\`\n`)[1]!.split('\n## ')[0]!;
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.flatMap((row) => Array.from(row.matchAll(/`([^`]+)`/g), ([, name]) => name!));
}

describe('docs/nn.md', () => {
  for (const [name, exported] of Object.entries({ nn, optim, data })) {
    it(`names what ${name} offers, once each`, () => {
      expect(named(name).sort()).toEqual(Object.keys(exported).sort());
    });
  }

  it('names the initialisers and utilities', () => {
    const inText = (list: object) =>
      Object.keys(list).filter((own) => !text.includes(`\`${own}\``));
    expect([...inText(nn.init), ...inText(nn.utils)]).toEqual([]);
  });
});

it('docs/distributions.md names what distributions offers, once each', () => {
  const page = readFileSync(new URL('../../docs/distributions.md', import.meta.url), 'utf8');
  const table = page.split('| kind | names |')[1]!.split('\n\n')[0]!;
  const found = Array.from(table.matchAll(/`([^`]+)`/g), ([, name]) => name!);
  expect(found.sort()).toEqual(Object.keys(distributions).sort());
});
