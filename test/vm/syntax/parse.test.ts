import { parse as acornParse } from 'acorn';
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

it.each([
  'abc$_9',
  'é + aé + éa + aéb',
  '𠮷a + a𠮷',
  '\\u0061b + a\\u{62}c',
  'a\u200cb + c\u00a0+ d\u2028e',
  'class A { #x = 1; #é = 2; m() { return this.#x; } }',
  'x = /x/gi',
  'v\\u0061r',
  'a\\x',
  '3in [] + 1a',
])('reads names as acorn does: %s', (text) => {
  const read = (parser: typeof parse) => {
    try {
      return JSON.stringify(parser(text, options));
    } catch (error) {
      return String(error);
    }
  };
  expect(read(parse)).toBe(read(acornParse));
});
