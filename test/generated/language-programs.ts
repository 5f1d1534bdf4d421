import fc from 'fast-check';
import type { Example } from '../resume/world.ts';

/**
 * Functions over all areas of the language, as text: three numbers `a`, `b`, `c`, an array `xs`, an object `o`
 * whose accessors log, and helpers that log what happens to them. What a program does is its log, its result
 * and its arguments afterwards.
 */
interface Parts {
  expression: string;
  target: string;
  pattern: string;
  statement: string;
  block: string;
  generatorBody: string;
}

const name = fc.constantFrom('a', 'b', 'c');

const simple = fc.oneof(
  name,
  name,
  fc.integer({ min: -2, max: 5 }).map(String),
  fc.constantFrom(
    'xs.length',
    'xs[0]',
    'xs[a & 3]',
    'undefined',
    'null',
    '"s"',
    '2n',
    'o.p',
    'o.q',
  ),
  fc.constantFrom('this', 'new.target', 'typeof missing', 'xs?.[b]', 'o.none?.deep.er', 'void 0'),
  fc.constantFrom('/x(y)?/g.test("axy")', '[, 1].length', '({ a, b }).a', 'delete o.p'),
);

const operator = fc.constantFrom('+', '-', '*', '<', '===', '!=', '%', '|', '>>>', '**', ',');
const assignment = fc.constantFrom('=', '+=', '-=', '??=', '&&=', '||=', '<<=');

const { statement } = fc.letrec<Parts>((tie) => {
  const part = (key: keyof Parts) => tie(key) as fc.Arbitrary<string>;
  const [e, p, s, b] = [part('expression'), part('pattern'), part('statement'), part('block')];
  const [target, g] = [part('target'), part('generatorBody')];
  const text = (strings: TemplateStringsArray, ...holes: fc.Arbitrary<string>[]) =>
    fc.tuple(...holes).map((values) => String.raw({ raw: strings }, ...values));
  const one = { depthSize: 'small', withCrossShrink: true } as const;
  return {
    expression: fc.oneof(
      one,
      simple,
      text`(${e} ${operator} ${e})`,
      text`(${e} ${fc.constantFrom('&&', '||')} ${e})`,
      text`((${e}) ?? (${e}))`,
      text`(${e} ? ${e} : ${e})`,
      text`(${target} ${assignment} ${e})`,
      text`(${p} = ${fc.constantFrom('it(3)', '[1, 2]', 'o', 'xs', '{ a: 7, q: [8] }')})`,
      text`${name}${fc.constantFrom('++', '--')}`,
      text`(${fc.constantFrom('++', '--')}${target})`,
      text`t(${e})`,
      text`(typeof ${e})`,
      text`(${fc.constantFrom('!', '-', '~', '+')}${name})`,
      text`[${e}, ...it(2), ...xs]`,
      text`f(...it(2), ${e}, ...[${e}])`,
      text`{ ...o, [t(${e})]: ${e}, get x() { return t(${e}); }, m() { return ${e}; } }.x`.map(
        (x) => `(${x})`,
      ),
      text`(() => (${name} = ${e}))()`,
      text`((x = ${e}, ...[y = ${e}]) => t([x, y].length))(${e})`,
      text`(function (x) { ${s} return [x, arguments.length, new.target === undefined]; })(${e}, 1)`,
      text`o?.[${e}]?.(${e})`,
      text`o.m?.(${e})`,
      text`tag\`x\${${e}}y\${${e}}\``,
      text`\`<\${t(${e})}>\``,
      text`(${e} in o)`,
      text`(${e} instanceof Base)`,
      text`new Base(${e}).value`,
      text`[...(function* () { ${g} })()].length`,
      text`drive((function* (x = ${e}) { ${g} })(1), [${e}, ${e}])`,
      text`new (class extends Base { #p = ${e}; q = t(${e}); constructor(x) { super(x); this.r = this.#p; } get z() { return [super.value, this.#p]; } })(${e}).z`,
      text`(class { static s = t(${e}); static { t(this.s); } static [t("k")]() { return ${e}; } }).k()`,
    ),
    target: fc.oneof(
      one,
      name,
      fc.constantFrom('o.p', 'o.q', 'xs[0]', 'xs[xs.length]', 'o[t("p")]', 'xs.length'),
    ),
    pattern: fc.oneof(
      one,
      text`[${target}, ${name} = ${e}]`,
      text`[, ${target} = t(${e}), ...${name}]`,
      text`{ p: ${target}, [t("q")]: ${name} = ${e} }`,
      text`{ a: ${target} = ${e}, ...${name} }`,
      text`[[${name}] = [${e}], { length: ${target} } = "xy"]`,
    ),
    block: fc.array(s, { maxLength: 3 }).map((list) => `{ ${list.join(' ')} }`),
    generatorBody: fc
      .array(
        fc.oneof(
          one,
          text`t(yield ${e});`,
          text`yield* it(2);`,
          text`t(yield* (function* () { try { yield ${e}; } finally { t("inner"); } return ${e}; })());`,
          text`try { yield ${e}; ${s} } catch (error) { t("caught"); yield 1; } finally { t("left"); }`,
          text`for (const x of it(3)) { if (x > 1) break; yield x; }`,
          text`if (${e}) return ${e};`,
          text`${name} = yield;`,
        ),
        { maxLength: 3 },
      )
      .map((list) => list.join(' ')),
    statement: fc.oneof(
      one,
      text`;(${e});`,
      text`t(${e});`,
      text`(${target} ${assignment} ${e});`,
      text`if (${e}) ${b} else ${b}`,
      text`for (let i = 0; i < 2; i++) { t(i); fs.push(() => i++); ${b} }`,
      text`for (let i = 0, g = () => i; i < 2; i++) { fs.push(g); ${b} if (t(a)) continue; i += 0; }`,
      text`for (const x of it(3)) { ${b} if (x === ${e}) break; t(x); }`,
      text`for (${target} of it(2)) ${b}`,
      text`for (const [x, y = ${e}] of [[1], [2, 3]]) { t(x + y); ${b} }`,
      text`for (const k in o) { t(k); ${b} }`,
      text`for (var v = 0; v < 2; v++) ${b}`,
      text`{ let n = 2; do { ${b} if (n === ${e}) continue; } while (n-- > 0 && a); }`,
      text`{ let n = 2; while (n-- > 0) { ${b} } }`,
      text`switch (${e}) { case 1: ${b} case ${e}: ${b} break; default: t("d"); case "s": { ${s} } }`,
      text`l3: { ${s} if (${e}) break l3; ${s} }`,
      text`l1: for (const x of it(3)) { for (const y of it(2)) { try { if (${e}) continue l1; if (${e}) break l1; t(y); } finally ${b} } }`,
      text`l2: for (let i = 0; i < 3; i++) { switch (i) { case 0: continue l2; case 1: ${b} break; default: break l2; } t(i); }`,
      text`{ let [${name} = 1, z = ${e}] = it(2); const h = () => z; t(h()); }`,
      text`{ const { p: z = ${e}, ...rest } = o; t(z); t(Object.keys(rest).length); }`,
      text`if (${e}) throw t(${e});`,
      text`if (t(${e})) return ${e};`,
      text`try ${b} catch (error) { t(kind(error)); ${b} }`,
      text`try ${b} finally ${b}`,
      text`try { ${s} throw ${e}; } catch ({ length: z = ${e} }) { t(z); ${b} } finally ${b}`,
      text`for (const x of it(2)) { try { ${s} ${fc.constantFrom('break', 'continue', 'return t(a)', 'throw t(b)')}; } finally ${b} }`,
      text`try { t(early); let early = ${e}; t(early); } catch (error) { t(kind(error)); }`,
      text`{ function inner(x) { return x > 0 ? inner(x - 1) + 1 : ${e}; } t(inner(2)); }`,
      text`{ const C = class Named extends Base { static #n = ${e}; static n() { return [Named.#n, super.name]; } }; t(C.n()); }`,
      text`Object.defineProperty(o, "late", { get: () => t(${e}), configurable: true, enumerable: true });`,
      fc.constantFrom(
        'if (xs.length < 6) xs.push(a);',
        'fs.forEach((f) => t(f()));',
        'o.p = o.q;',
        'delete o.q;',
        'xs.length = 0;',
        '"use no strict"; debugger;',
      ),
    ),
  };
});

const env = `
  const t = (x) => { if (log.length < 80) log.push(typeof x === 'function' ? 'f' : x); return x; };
  const kind = (error) => error instanceof Error ? error.constructor.name : error;
  const it = (n) => ({
    [Symbol.iterator]() {
      t('open');
      let i = 0;
      return {
        next() { t('next'); return i < n ? { value: i++, done: false } : { value: 'end', done: true }; },
        return(value) { t('return'); return { value, done: true }; },
      };
    },
  });
  const drive = (g, values) => {
    const seen = [];
    try {
      seen.push(g.next().value);
      for (const value of values) seen.push(g.next(value));
      seen.push(g.throw(new RangeError('thrown in')));
      seen.push(g.return('returned'));
    } catch (error) { seen.push(kind(error)); }
    return t(seen.length);
  };
  const f = (...all) => t(all.length);
  const tag = (strings, ...values) => t(strings.raw.join('|') + values.length);
  class Base { constructor(x) { this.value = x; } }`;

/** `o` is made anew for each call. */
const makeO = `{ get p() { return t('p'); }, set p(v) { t(typeof v); }, q: 2, 1: (x) => t(x), m(x) { return t(x); } }`;

export const languagePrograms: fc.Arbitrary<Example> = fc
  .tuple(fc.array(statement, { minLength: 1, maxLength: 6 }), fc.boolean())
  .map(([lines, sloppy]) => ({
    name: 'generated',
    fn: `function (a, b, c, xs, o) { const fs = []; ${lines.join('\n')} return [a, b, c, xs]; }`,
    env,
    calls: [`1, 2, 3, [4, 5], ${makeO}`, `0, "x", null, [], ${makeO}`],
    self: '({ self: true })',
    sloppy,
  }));
