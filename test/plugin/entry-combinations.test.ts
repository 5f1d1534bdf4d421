import { transformSync } from 'esbuild';
import { minifySync } from 'rolldown/utils';
import { afterEach, expect, test, vi } from 'vitest';
import type { AnyFunction } from '../../src/1-capture/capture.ts';
import { captured } from '../capture/captured.ts';
import { instrument, loadModule, withoutInspector } from './load-module.ts';

// As test/capture/entry-combinations: each statement stands first in a body, `n` counts effects.
const statements = `
if (false) n++; | if (0) { n++ } else { n++ } | if (1) n++; else n++; | if (m) n++; | while (n < 0) n++;
while (true) { n++; break } | for (const k in { a: 1 }) n++; | for (const [k = e()] of [[]]) n++;
for (var i = n++; i < 3; i++); | for (; n++ < 3;); | for (;;) { n++; break } | for (m.p of [n++]) n++;
for (let [z = n++] = []; ;) { break } | do { } while (n++ < 0); | do ; while (e() < 0); | { } | ; | m; | m.p;
m[e()]; | e\`x\`; | new E; | n ||= 1; | m.p = n++; | delete m[n++]; | var v; | var v = n++; | let { p = n++ } = m;
let [q = n++, ...r] = []; | const w = class { static z = n++ }; | (class { static { n++ } }); | (class { [e()] = 1 });
class Z { static { n++ } } | class Z extends e() {} | throw n++; | return; | return n++; | return m ? n++ : e();
sw: switch (1) { case n++: break sw; } | switch (m) { case e(): n++ } | try { } finally { n++ }
try { throw 1 } catch (x) { n++ } | label: { n++; break label } | (() => n++)(); | n++ && e(); | debugger; n++;
m?.p?.[n++]; | (n++, m); | typeof n++; | function inner() {} inner(n++); | m.get; | if (!m) return e(); return n++;
({ [n++]: m.p } = {}); | [m[n++]] = [1]; | ({ get x() { return n++ } }).x; | [...m]; | ({ ...m }); | if (m) { n++; return }
let a1, b1, c1; n++; | let a1, b1 = n++; | const f1 = () => n++; f1(); | if (m) throw n++; e(); | n++; n++; return n++;
`
  .split(/ \| |\n/)
  .map((text) => text.trim())
  .filter((text) => text !== '');

const parameters = [
  '',
  'a = n++',
  '{ a = n++ } = {}',
  '[a = e()] = []',
  '...[a = n++]',
  'a, b = e()',
];

const forms: ((parameters: string, body: string) => string)[] = [
  (p, b) => `(function (${p}) { ${b} })`,
  (p, b) => `((${p}) => { ${b} })`,
  (p, b) => `(function* (${p}) { ${b} })`,
  (p, b) => `(async (${p}) => { ${b} })`,
  (p, b) => `(async function* (${p}) { ${b} })`,
  (p, b) => `({ k(${p}) { ${b} } }).k`,
  (p, b) => `(class extends E { f = n++; constructor(${p}) { ${b} } })`,
];

const all = forms
  .flatMap((form, j) =>
    statements.map((statement, i) =>
      form(parameters[(i + j) % parameters.length] ?? '', `${statement} ; [n, m, e, E]`),
    ),
  )
  .map((text, i) => `  f${i}: ${text},`);

const code = `
let n = 0;
const m = { p: 1, get get() { n++; return 1 }, *[Symbol.iterator]() { n++ } };
const e = () => { n++; return 'k' };
class E { constructor() { n++ } }
export const count = () => n;
export const all = {
${all.join('\n')}
};`;

const minifiers: Record<string, (text: string) => string> = {
  nothing: (text) => text,
  'esbuild’s minifier': (text) => transformSync(text, { minify: true, format: 'esm' }).code,
  'Oxc’s minifier': (text) => minifySync('all.mjs', text).code,
};

afterEach(() => void vi.restoreAllMocks());

for (const [name, minify] of Object.entries(minifiers)) {
  test(`no combination of form, parameters and first statement has an effect, after ${name}`, async () => {
    const module = await loadModule(minify(instrument(code)));
    withoutInspector();
    const count = module['count'] as () => number;
    const failures: string[] = [];
    for (const [key, fn] of Object.entries(module['all'] as Record<string, AnyFunction>)) {
      const { scope, source, syntax } = captured(fn);
      const { node } = syntax();
      const text = source.text.slice(node.start, node.end);
      if (count() !== 0 || scope.get('n') !== 0) failures.push(`${key}: ${text}`);
      expect(code).toContain(text);
    }
    expect(failures).toEqual([]);
  });
}
