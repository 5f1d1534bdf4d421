import { expect, test } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import type { AnyFunction } from '../../src/1-capture/script/captured-function.ts';
import { shareOfDay } from '../share-of-day.ts';
import { captured } from './captured.ts';

// `n` counts effects, `e()` has one. Each statement stands first in a body, so that a capture must
// stop at it (or, where it has no effect of its own, at what follows).
const statements = `
if (false) n++; | if (0) { n++ } else { n++ } | if (1) n++; else n++; | if (m) n++; | while (n < 0) n++;
while (true) { n++; break } | for (const k in { a: 1 }) n++; | for (const [k = e()] of [[]]) n++;
for (var i = n++; i < 3; i++); | for (; n++ < 3;); | for (;;) { n++; break } | for (m.p of [n++]) n++;
for (m[n++] of [1]) n++; | for (let [z = n++] = []; ;) { break } | do { } while (n++ < 0);
do ; while (e() < 0); | { } | ; | "use strict"; | 1; | m; | m.p; | m[e()]; | e\`x\`; | new E; | n ||= 1;
m.p = n++; | delete m[n++]; | var v; | var v = n++; | let { p = n++ } = m; | let [q = n++, ...r] = [];
const w = class { static z = n++ }; | (class { static { n++ } }); | (class { [e()] = 1 });
class Z { static { n++ } } | class Z extends e() {} | throw n++; | return; | return n++;
sw: switch (1) { case n++: break sw; } | switch (m) { case e(): n++ } | try { } finally { n++ }
try { throw 1 } catch (x) { n++ } | label: { n++; break label } | (() => n++)(); | n++ && e();
m?.p?.[n++]; | (n++, m); | typeof n++; | debugger; n++; | function inner() {} inner(n++); | m.get;
({ [n++]: m.p } = {}); | [m[n++]] = [1]; | ({ get x() { return n++ } }).x; | [...m]; | ({ ...m });
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
  (p, b) => `(class { f = n++; constructor(${p}) { ${b} } })`,
];

const surroundings = `
let n = 0;
let m = { p: 1, get get() { n++; return 1 }, *[Symbol.iterator]() { n++ } };
let e = () => { n++; return 'k' };
let other = e;
let E = class { constructor() { n++ } };
// What changes is not copied: a call begins.
const change = () => { m = e = other = E = null };
`;

// What concise arrows return; places of calls lie behind those of their parts.
const values = `
m | m.get | m.get.toFixed(e()) | e() | e(e()) | e().length | e().concat(e()) | e().concat(n++).at(e()).big()
m.get.toFixed(n++).at(e()).big() | [e(), n++] | [...m] | ({ a: n++, [e()]: e() }) | new E | (n++, m) | m[n++]
(0, e)() | e?.() | m?.get.toFixed(e()) | e().big?.(e()) | m.get[e()](n++).big() | \`\${e()}\` | e\`x\` | n++ | -m.get
n || e() | e() ? n++ : e() | (() => n++)() | class { static z = n++ } | this.k(e()) | (e().big)().at(e()) | other(e())
`
  .split(/ \| |\n/)
  .map((text) => text.trim())
  .filter((text) => text !== '');

/** The functions whose capture runs something of theirs. */
function ranWhenCaptured(texts: readonly string[]): string[] {
  return withCaptureSession(() =>
    texts.filter((text) => {
      const make = new Function(`${surroundings} return { f: ${text}, count: () => n }`);
      const { f, count } = make() as { f: AnyFunction; count: () => number };
      const { scope } = captured(f);
      return count() !== 0 || (scope.has('n') && scope.get('n') !== 0);
    }),
  );
}

test('entry/a first statement of a plain function has no effect', () => {
  const texts = statements.flatMap((statement) => [
    `(function () { ${statement} ; [n, m, e, E] })`,
    ...(statement === '"use strict";' ? [] : [`((a, b) => { ${statement} ; [n, m, e, E, a, b] })`]),
  ]);
  expect(ranWhenCaptured(texts)).toEqual([]);
  expect(texts.length).toBeGreaterThan(100);
});

test('entry/the value of a concise arrow has no effect', () => {
  const texts = values.flatMap((value) => [`() => ${value}`, `(a, b) => (${value})`]);
  const ran = ranWhenCaptured(texts.map((text) => `(${text})`));
  expect(ran).toEqual([]);
});

// Engines give some expressions no place of their own in the text, wherever they stand.
const behind = [
  ...statements.filter((text) => text !== '"use strict";'),
  ...values.map((value) => `void (${value});`),
  ...[
    'm?.p',
    'm?.k?.()',
    'm?.[n]',
    '(n, m?.p)',
    '!m?.p',
    'm && m?.p',
    'm?.p ?? m',
    'm?.p.k.k',
    'delete m?.p',
    '[m]',
    '/a/',
    'class {}',
    '(() => 1)',
    '5n',
    'new.target',
    'e``',
    'typeof m',
    'this',
    '`' + '$' + '{m}`',
  ].flatMap((value) => [
    `while (${value}) break;`,
    `do break; while (${value});`,
    `for (; ${value}; ) break;`,
    `for (let i = ${value}; ; i = ${value}) break;`,
    `if (${value}) n;`,
    `n, ${value};`,
    `const c = (n, ${value}, ${value});`,
    `const { k = ${value} } = m;`,
    `switch (${value}) { case ${value}: }`,
    `for (const k of [${value}]) k;`,
    `const g = (k = ${value}) => ${value};`,
    `m.p ||= ${value};`,
    `return ${value};`,
    `throw ${value};`,
  ]),
];

test('entry/what stands behind the first statement doesn’t move the stop', () => {
  const firsts = ['n++;', 'e();', 'const w = n++;', 'if (n++) m;', 'm.p = n++;', ''];
  const taken = shareOfDay(behind);
  const texts = taken.flatMap((statement, i) => {
    const form = forms[i % forms.length]!;
    const parameter = parameters[i % parameters.length]!;
    return [
      ...[firsts[i % firsts.length]!, firsts[(i + 1) % firsts.length]!].map(
        (first) => `(function () { ${first} { ${statement} ; [n, m, e, E] } })`,
      ),
      `((a, b) => { n++; { ${statement} ; [n, m, e, E, a, b] } })`,
      form('', `n++; { ${statement} ; [n, m, e, E] }`),
      form(parameter, `e(); { ${statement} ; [n, m, e, E] }`),
    ];
  });
  expect(ranWhenCaptured(texts)).toEqual([]);
  expect(behind.length).toBeGreaterThan(200);
  expect(texts.length).toBe(5 * taken.length);
});

test('entry/no combination of form, parameters and first statement has an effect', () => {
  const failures: string[] = [];
  let tried = 0;
  const taken = shareOfDay([...statements.entries()]);
  withCaptureSession(() => {
    for (const [i, statement] of taken) {
      for (const [j, form] of forms.entries()) {
        const simple = statement === '"use strict";'; // not allowed with other parameters
        const text = form(
          simple ? '' : (parameters[(i + j) % parameters.length] ?? ''),
          `${statement} ; [n, m, e, E]`,
        );
        const make = new Function(`${surroundings} return { f: ${text}, count: () => n }`);
        const { f, count } = make() as { f: AnyFunction; count: () => number };
        const { scope } = captured(f);
        tried++;
        if (count() !== 0 || scope.get('n') !== 0) failures.push(text);
      }
    }
  });
  expect(failures).toEqual([]);
  expect(tried).toBe(taken.length * forms.length);
});
