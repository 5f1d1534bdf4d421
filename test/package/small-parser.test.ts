import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Comment, type Options, parse as parseWhole, type Token } from 'acorn';
import { describe, expect, it } from 'vitest';
import { withoutTables } from '../../build/small-parser.ts';

const acorn = createRequire(import.meta.url)
  .resolve('acorn')
  .replace(/\.js$/, '.mjs');
const whole = readFileSync(acorn, 'utf8');

const published = async <T>(): Promise<T> =>
  import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(withoutTables(whole))}`);

/** Syntax that a version of the language after the first has added. */
const recentSyntax = `#!/usr/bin/env node
// A comment. /* in it */
/* Another
 * one. */
import data, { type as kind, 'a b' as both } from './data.json' with { type: 'json' };
export * as all from './all.js';
export { kind as 'c d' };
class A extends B {
  static #count = 1_000n; static { A.#count ??= 2n; } accessor; get x() { return #y in this; } #y = new.target;
  async *rows({ a = 1, ...rest }, [b, , ...c],) { for await (const x of y) yield* x?.[0]?.(...z); }
}
label: for (const [i, { j }] of k) { if (i ** 2) continue label; else break; }
const f = async (x = import('./later.js'), ...y) => ({ x, ['y' + 1]: y, async *g() {}, __proto__: null });
try { using file = open(); await using other = open(); } catch { let async; async = tag\`a\${1}\\u{61}\`; }
let of = 0b11 + 0o17 + /(?<name>[\\p{L}--a])/dv.test(import.meta.url); of ||= await f; of &&= 2; delete of?.a.b;
`;

/** acorn's exports that its types omit. */
interface Characters {
  isIdentifierStart(code: number, astral: boolean): boolean;
  isIdentifierChar(code: number, astral: boolean): boolean;
}

describe('the published parser', () => {
  it('takes for names what the engine takes for names', async () => {
    const code = withoutTables(whole);
    expect(code.length).toBeLessThan(0.8 * whole.length);
    const parser = await published<Characters>();
    // Every character of the first blocks, and each 211th of the others, lone surrogates included.
    const characters = [...Array(0x600).keys()];
    for (let each = 0x600; each <= 0x10ffff; each += 211) characters.push(each);
    characters.push(0x200c, 0x200d, 0x2118, 0x309b, 0x1d400, 0x20000);
    const differing = characters.filter((each) => {
      const text = String.fromCodePoint(each);
      return (
        parser.isIdentifierStart(each, true) !== isName(`${text}_`) ||
        parser.isIdentifierChar(each, true) !== isName(`_${text}_`)
      );
    });
    expect(differing).toEqual([]);
  });

  it('parses as acorn does', async () => {
    const { parse, Parser } = await published<typeof import('acorn')>();
    // As in `src/vm/syntax/parse.ts`: patterns are not validated.
    const unchecked = { validateRegExpFlags() {}, validateRegExpPattern() {} };
    Object.assign(Parser.prototype, unchecked);
    const options: Options = { ecmaVersion: 'latest', sourceType: 'module', locations: true };
    const parsed = (by: typeof parse, text: string): string => {
      const tokens: Token[] = [];
      const comments: Comment[] = [];
      const tree = by(text, { ...options, onToken: tokens, onComment: comments });
      return JSON.stringify([tree, tokens, comments], (_, value) =>
        typeof value === 'bigint' ? `${value}n` : value,
      );
    };
    // Texts may end in anything, without a newline.
    const endings = [
      '',
      'x => 1',
      '1n',
      '0x1f',
      '#!/x',
      '/a/v',
      'x // y',
      '`a`',
      'export * as y from "z"',
    ];
    for (const text of [whole, recentSyntax, ...endings]) {
      expect(parsed(parse, text) === parsed(parseWhole, text), text.slice(0, 40)).toBe(true);
    }
    const refused = ['let x; let x;', 'with (x) {}', 'class A { #a; #a }', 'await: 1', 'x ??= '];
    for (const text of [
      ...refused,
      '1x',
      '1_',
      '1n2',
      '"',
      '`',
      '/a',
      '/* x',
      '\\u{',
      'x.#y',
      '({',
    ]) {
      const messages = [parse, parseWhole].map((by) => {
        try {
          return parsed(by, text);
        } catch (error) {
          expect(error, text).toBeInstanceOf(SyntaxError);
          return (error as SyntaxError).message;
        }
      });
      expect(messages[0], text).toBe(messages[1]);
    }
  });

  it('refuses an acorn that has its tables elsewhere', () => {
    expect(() => withoutTables('export const parse = 1;')).toThrow('acorn has nothing like');
  });
});

function isName(text: string): boolean {
  try {
    return text in new Function(`return { ${text}: 0 }`)();
  } catch {
    return false;
  }
}
