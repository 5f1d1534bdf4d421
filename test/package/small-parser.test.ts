import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { withoutTables } from '../../build/small-parser.ts';

const acorn = createRequire(import.meta.url)
  .resolve('acorn')
  .replace(/\.js$/, '.mjs');
const whole = readFileSync(acorn, 'utf8');

/** acorn's exports that its types omit. */
interface Characters {
  isIdentifierStart(code: number, astral: boolean): boolean;
  isIdentifierChar(code: number, astral: boolean): boolean;
}

describe('the published parser', () => {
  it('takes for names what the engine takes for names', async () => {
    const code = withoutTables(whole);
    expect(code.length).toBeLessThan(0.8 * whole.length);
    const url = `data:text/javascript,${encodeURIComponent(code)}`;
    const parser = (await import(/* @vite-ignore */ url)) as Characters;
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
