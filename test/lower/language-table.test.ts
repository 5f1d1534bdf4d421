import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { lowerRefusals } from '../../src/2-lower/lower.ts';
import { sameAsNative } from './language/differential.ts';

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

/** For each row of the table of what is supported: every form that the row names, with a result that shows it. */
const supported: Readonly<Record<string, string>> = {
  statements: `
    const seen = []; outer: for (let i = 0; i < 3; i++) { switch (i) { case 0: seen.push('zero'); case 1: seen.push('through'); break; default: break outer; } try { continue outer; } catch { } finally { seen.push('finally'); } }
    for (const key in { a: 1 }) seen.push(key); for (const x of spy('closed', [1, 2, 3])) if (x === 2) break; const late = (async () => { for await (const x of [1]) return x; })(); do { seen.push(1); } while (false);
    const ends = (how) => { try { if (how === 0) return 'r'; if (how === 1) throw 't'; } catch (e) { return e; } finally { if (how === 2) return 'f'; } }; return [seen, ends(0), ends(1), ends(2), late instanceof Promise];`,
  expressions: `
    const o = { a: { b: () => 1 } }; let n = null; n ??= 2; n &&= 3; n ||= 4; const tag = (s) => s, at = () => tag\`a\${1}b\`; function N() { return { t: new.target === N }; }
    return [o?.a?.b?.(), o.none?.deep, n, [...'ab'], Math.max(...[1, 2]), at() === at(), at().raw, new N().t, 2n ** 64n, /a(?<x>b)/.exec('ab').groups.x, delete o.a, (1, 2), 'a' in o, [] instanceof Array];`,
  variables: `
    const fs = []; for (let i = 0; i < 2; i++) fs.push(() => i++); const early = () => later; try { early(); } catch (e) { log(e.name); } let later = 1; const fixed = 1; try { fixed = 2; } catch (e) { log(e.name); }
    const f = function self(x, g = () => x) { var x = 5; try { self = 1; } catch (e) { log(e.name); } return [x, g()]; }; class C { static own = () => C; } return [fs[0](), fs[0](), fs[1](), early(), f(1), C.own() === C];`,
  functions: `
    const o = { m() { return [this === o, arguments.length]; }, get g() { return 1; }, set g(v) { log(v); }, [\`k\${1}\`]: () => this }; o.g = 2;
    return [o.m(1, 2), o.g, o.k1(), o.m.name, o.k1.name, ((a, b = 1, ...c) => 0).length, (function (a) { return arguments[0]; })(7), (async () => {}).name];`,
  destructuring: `
    const [a, , b = log('b', 2), ...c] = spy('s', [1, 0, undefined, 4]); const { x, ['y']: y = log('y', 3), ...rest } = { x: 1, z: 2, w: 3 }; const t = []; [t[0], { p: t[1] }] = [5, { p: 6 }]; return [a, b, c, x, y, rest, t];`,
  'generators, async': `
    function* g() { try { const x = yield* [1, 2]; log(x); log(yield 3); } finally { yield 'f'; } } const it = g(); const all = [it.next(), it.next(), it.next(), it.return('r'), it.next()];
    (async () => { log(await 1); for await (const v of (async function* () { yield 1; yield* [2]; })()) log(v); })(); return all;`,
  classes: `
    class A { f = 1; #p = 2; static s = 3; static #q = 4; static { this.t = this.#q; } #m() { return this.#p; } get g() { return this.#m(); } set g(v) { this.#p = v; } ['c' + 1]() { return #p in this; } static x() { return super.name; } }
    class B extends A { constructor() { super(); } get g() { return super.g + 1; } } class N extends null { static n = 1; } class L extends Array {} const b = new B(); return [b.f, b.g, b.c1(), A.s, A.t, B.x(), N.n, new L(1, 2).length];`,
  'sloppy code': `
    const seen = function () { return typeof this; }; { function block() { return 1; } } const o = Object.freeze({ a: 1 }); o.a = 2; return [seen.call(1), block(), o.a, delete o.a, (function (a) { arguments[0] = 2; return a; })(1)];`,
};

for (const sloppy of [false, true]) {
  const cases = Object.entries(supported).filter(([area]) => (area === 'sloppy code') === sloppy);
  sameAsNative('supported', Object.fromEntries(cases), { sloppy });
}

it('each row of what is supported is shown by a case', () => {
  const table = text.slice(text.indexOf('## Supported'), text.indexOf('## Builtins in graphs'));
  const areas = [...table.matchAll(/^\| ([a-z][^|]*?) \|/gm)].map(([, area]) => area);
  expect(areas.filter((area) => area !== 'area')).toEqual(Object.keys(supported));
});
