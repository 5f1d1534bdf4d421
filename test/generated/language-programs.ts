import fc from 'fast-check';
import {
  asyncForms,
  classForms,
  functionForms,
  generatorForms,
  scopeForms,
  type Text,
} from './language-forms.ts';

/** A function as text. */
export interface LanguageProgram {
  /** An expression. */
  readonly fn: string;
  readonly sloppy: boolean;
}

/**
 * Functions over all areas of the language: three numbers `a`, `b`, `c`, an array `xs`, an object `o`
 * whose accessors log, a Proxy `w` that logs every access, and helpers that log what happens to them. What a program
 * does is its log, its result and its arguments afterwards, once all promises have had their turns.
 */
interface Parts {
  expression: string;
  target: string;
  pattern: string;
  statement: string;
  block: string;
  generatorBody: string;
  asyncBody: string;
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
    'w.p',
    'w?.[b]',
    'arguments.length',
    'arguments[1]',
  ),
  fc.constantFrom('this', 'new.target', 'typeof missing', 'xs?.[b]', 'o.none?.deep.er', 'void 0'),
  fc.constantFrom('/x(y)?/g.test("axy")', '[, 1].length', '({ a, b }).a', 'delete o.p'),
);

const operator = fc.constantFrom('+', '-', '*', '<', '===', '!=', '%', '|', '>>>', '**', ',');
const assignment = fc.constantFrom('=', '+=', '-=', '??=', '&&=', '||=', '<<=');

/** Long runs make larger programs. */
const maxDepth = process.env['GENERATED_RUNS'] ? 5 : 3;
const depthIdentifier = fc.createDepthIdentifier();

const { statement } = fc.letrec<Parts>((tie) => {
  const part = (key: keyof Parts) => tie(key) as fc.Arbitrary<string>;
  const [e, p, s, b] = [part('expression'), part('pattern'), part('statement'), part('block')];
  const [target, g, y] = [part('target'), part('generatorBody'), part('asyncBody')];
  const text: Text = (strings, ...holes) =>
    fc.tuple(...holes).map((values) => String.raw({ raw: strings }, ...values));
  const parts = { e, p, s, b, target, g, y, name };
  // One depth for all: at its end only the first way of each list is taken, which is a simple one.
  const one = { depthIdentifier, maxDepth, depthSize: 'small', withCrossShrink: true } as const;
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
      text`(${e} in ${fc.constantFrom('o', 'w')})`,
      text`tag\`\${t(${e})}\\n\${tag}\``,
      text`o?.m?.(${e})?.[${e}]`,
      text`boom(${e})`,
      text`Object.keys({ ...w, [t("z")]: ${e} }).length`,
      text`(function (x, y) { x = ${e}; t(arguments[0]); arguments[1] = ${e}; ${s} return [y, arguments.length, delete arguments[0], x]; })(${e}, ${e})`,
      text`new (class C { #a = ${e}; static #s = t(${e}); #m(x) { return [this.#a, x]; } get #g() { t("get"); return this.#a; } set #g(v) { t("set"); this.#a = v; } static has(x) { return #a in x; } run() { this.#g ??= ${e}; this.#g += 1; [this.#a = 1] = [${e}]; return [this.#m(${e}), this?.#a, o.none?.#a, C.has(this), C.has(o), C.#s, delete this.b]; } })().run()`,
      text`new (class extends Base { get value() { t("read"); return ${e}; } set value(x) { t("write"); ${s} } static [t("f")] = ${e}; m() { super.own = ${e}; return [super.own, super.m?.(${e}), this.own, (() => super.toString === {}.toString)()]; } })(${e}).m()`,
      text`(${e} instanceof Base)`,
      text`new Base(${e}).value`,
      text`[...(function* () { ${g} })()].length`,
      text`drive((function* (x = ${e}) { ${g} })(1), [${e}, ${e}])`,
      text`new (class extends Base { #p = ${e}; q = t(${e}); constructor(x) { super(x); this.r = this.#p; } get z() { return [super.value, this.#p]; } })(${e}).z`,
      ...classForms(text, parts),
      ...functionForms(text, parts),
      text`(class { static s = t(${e}); static { t(this.s); } static [t("k")]() { return ${e}; } }).k()`,
    ),
    target: fc.oneof(
      one,
      name,
      fc.constantFrom('o.p', 'o.q', 'xs[0]', 'xs[xs.length]', 'o[t("p")]', 'xs.length'),
      fc.constantFrom('w.p', 'w[t("n")]', 'arguments[0]', '[t(xs)][0].x'),
    ),
    pattern: fc.oneof(
      one,
      text`[${target}, ${name} = ${e}]`,
      text`[, ${target} = t(${e}), ...${name}]`,
      text`{ p: ${target}, [t("q")]: ${name} = ${e} }`,
      text`{ a: ${target} = ${e}, ...${name} }`,
      text`{ none: ${target} = boom(${e}), [t("p")]: ${target} }`,
      text`[${target} = boom(${e}), [${name}] = it(1), ...[${target}, ...${name}]]`,
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
          text`try { yield ${e}; } finally { t(yield ${e}); ${s} }`,
          text`try { ${s} return ${e}; } finally { if (t(yield 7)) { ${s} } }`,
          text`for (const x of it(2)) { try { t(yield x); } finally { t("each"); } }`,
          ...generatorForms(text, parts),
        ),
        { maxLength: 3 },
      )
      .map((list) => list.join(' ')),
    asyncBody: fc
      .array(
        fc.oneof(
          one,
          text`t(await ${name});`,
          text`t(await ${e});`,
          text`await null; ${s}`,
          text`for await (const x of it(2)) { t(x); ${s} }`,
          text`for await (const x of (async function* () { try { yield ${e}; await null; ${g} yield later(${e}); } finally { t(await "end"); } })()) { if (x === ${e}) break; t(x); }`,
          text`try { t(await fails(${e})); } catch (error) { t(kind(error)); ${s} } finally { await null; t("left"); }`,
          text`if (await ${e}) return later(${e});`,
          ...asyncForms(text, parts),
          text`const [d = await later(${e}), ...r] = it(2); t([d, ...r].length);`,
          text`t(await Promise.all([later(${e}), (async () => { ${s} return this; })()]).then((all) => all.length));`,
        ),
        { maxLength: 3 },
      )
      .map((list) => `{ ${list.join(' } { ')} }`),
    statement: fc.oneof(
      one,
      text`;(${e});`,
      text`(async (x = ${e}) => { ${y} return ${e}; })().then(t, (error) => t(kind(error)));`,
      text`(async function (x) { ${y} return arguments.length; })(${e}).then(t, (error) => t(kind(error)));`,
      text`drain((async function* () { ${y} yield ${e}; try { yield later(${e}); } finally { t("closed"); } })(), ${e});`,
      text`l4: try ${b} finally { switch (${e}) { case 1: break l4; case ${e}: { ${s} } default: l5: for (;;) { if (${e}) break l5; break l4; } } }`,
      text`switch (${e}) { case t(1): l6: { try { ${s} break l6; } finally ${b} } default: let z = ${e}; t((() => z)()); case 2: function late() { return z; } }`,
      text`for (const k in w) { t(k); if (${e}) delete w.p; }`,
      text`for (const { length: n = boom(${e}) } of ["ab", ${e}]) { t(n); ${b} }`,
      text`try { (${p} = w); } catch (error) { t(kind(error)); }`,
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
      ...scopeForms(text, parts),
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

export const languagePrograms: fc.Arbitrary<LanguageProgram> = fc
  .tuple(fc.array(statement, { minLength: 1, maxLength: 6 }), fc.boolean())
  .map(([lines, sloppy]) => ({
    fn: `function (a, b, c, xs, o, w) { const fs = []; ${lines.join('\n')} return [a, b, c, xs]; }`,
    sloppy,
  }));
