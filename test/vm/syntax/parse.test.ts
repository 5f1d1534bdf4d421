import { expect, it } from 'vitest';
import { parse } from '../../../src/vm/syntax/parse.ts';

const options = { ecmaVersion: 'latest' } as const;

it('leaves the syntax of regular expressions to the engine that runs them', () => {
  // The second one is of engines that this one may not know.
  for (const pattern of ['/[/(]\\//u', '/(?newer:a)/q', '/(/', '/\\p{NoSuchScript}/v']) {
    const { body } = parse(`x = ${pattern};`, options);
    const end = pattern.lastIndexOf('/');
    expect(body).toMatchObject([
      {
        expression: {
          right: { regex: { pattern: pattern.slice(1, end), flags: pattern.slice(end + 1) } },
        },
      },
    ]);
  }
});

it('finds where they end', () => {
  for (const open of ['x = /[/]', 'x = /a\\/', 'x = /a\n/']) {
    expect(() => parse(open, options)).toThrow(/Unterminated regular expression/);
  }
});
