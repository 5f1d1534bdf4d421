// biome-ignore-all lint/suspicious/noTemplateCurlyInString: forms are source text
import type fc from 'fast-check';

/** Source text with holes. */
export type Text = (
  strings: TemplateStringsArray,
  ...holes: readonly fc.Arbitrary<string>[]
) => fc.Arbitrary<string>;

type Part = fc.Arbitrary<string>;

/** What goes into the holes: expression, pattern, statement, block, target, bodies of a generator and of async code, a name. */
export interface Parts {
  readonly e: Part;
  readonly p: Part;
  readonly s: Part;
  readonly b: Part;
  readonly target: Part;
  readonly g: Part;
  readonly y: Part;
  readonly name: Part;
}

type Forms = (text: Text, parts: Parts) => Part[];

/** Classes, as expressions. */
export const classForms: Forms = (text, { e, s, g, y, name }) => [
  text`(() => { class A extends (t("heritage"), Base) { static x = () => [this === A, super.name, new.target]; static get [t("k")]() { return ${e}; } static set [t("k")](v) { t(v); } } A.k = ${e}; return [A.k, A.x().length, called(A).name]; })()`,
  text`(() => { try { class A { static x = A; [(() => A)()] = 1; } } catch (error) { return kind(error); } })()`,
  text`new (class extends Base { f = () => [this.value, super.m, new.target]; [t("c")] = ${e}; "s" = 1; 0 = t(2); constructor(...all) { const start = () => super(...all, ...it(1)); ${s} t(start() === this); try { start(); } catch (error) { t(kind(error)); } } })(${e}).f().length`,
  text`(() => { try { return new (class extends Base { constructor() { if (${e}) super(); ${s} return ${e}; } })(); } catch (error) { return kind(error); } })()`,
  text`(() => { try { return typeof new (class extends ${e} {})(); } catch (error) { return kind(error); } })()`,
  text`(() => { class A { static #n = 0; static #m() { return A.#n++; } static async #a() { return ${e}; } static *#g() { ${g} } static get #v() { return t(A.#n); } static set #v(x) { A.#n = x; } static run() { A.#v = ${e}; A.#v ||= 1; A.#a().then(t, (error) => t(kind(error))); return [this.#m(), [...A.#g()].length, A.#v, #v in A, #m in ${e}]; } } return A.run(); })()`,
  text`(() => { class A { #x = ${e}; static y(o) { try { return [o.#x, o.#x = ${e}, o?.#x]; } catch (error) { return kind(error); } } } return [A.y(new A()), A.y(o), A.y(${e})]; })()`,
  text`(() => { class A { m() { return ["A", ${e}]; } static s() { return t("s"); } get v() { return t("A.v"); } } class B extends A { m() { return [super.m(), super["m"](), super[t("v")], (() => super.m)() === A.prototype.m, delete this.m]; } static s() { return super.s(); } get v() { return super.v; } } return [new B().m(), B.s(), new B().v]; })()`,
  text`({ __proto__: { m(x) { return [t(x), this.k]; }, get q() { return this.k; } }, k: ${e}, m(x) { return super.m(x).concat(super.q, super[t("none")]); } }).m(${e})`,
  text`(() => { const C = class { static async *[t("a")]() { ${y} yield ${e}; } async ["b"]() { return ${e}; } *c() { ${g} } }; drain(C.a(), ${e}); new C().b().then(t, (error) => t(kind(error))); return [...new C().c()].length; })()`,
  text`(() => { const C = class { static #p = t("p"); static { const inner = ${e}; var ${name} = inner; t(this.#p); this.q = () => inner; } }; return C.q(); })()`,
  text`Reflect.construct(class extends Base { t = new.target === Base; constructor(x) { super(x); this.u = new.target === Base; } }, [${e}], Base).u`,
];

/** Functions, parameters, names and conversions. */
export const functionForms: Forms = (text, { e, p, s, name, target }) => [
  text`(function (x, g = () => x, h = () => { x = ${e}; }) { var x; t(x); x = 5; h(); return [x, g()]; })(${e})`,
  text`(function (x = ${e}, { y, [t("z")]: z = x } = { y: 1 }, [v = (() => z)(), ...w] = it(2), ...u) { ${s} return [x, y, z, v, w.length, u.length, arguments.length]; })(undefined, ${e} ?? undefined)`,
  text`(function n(x) { try { n = 1; } catch (error) { t(kind(error)); } return typeof n; })(${e})`,
  text`(function (x, y) { "use strict"; arguments[0] = ${e}; y = 2; return [x, arguments[1], Object.keys(arguments)]; })(1, ${e})`,
  text`(function (x, x2) { const a = () => arguments; ${name} = a()[0]; x = ${e}; delete arguments[1]; arguments[1] = 9; return [a()[0], x2, a().length]; })(${e}, 2, 3)`,
  text`[called(() => {}), called({ k() {} }.k), called({ [t("c")]: (x, y = 1) => x }.c), called(class { static s = 1; }), called(Object.getOwnPropertyDescriptor({ get g() { return 1; } }, "g").get), called((0, function () {}))].length`,
  text`((x = (() => y)(), y = 1) => x)(${e})`,
  text`(() => { try { return ((x = y, y = 1) => x)(); } catch (error) { return kind(error); } })()`,
  text`(prim(${e}) + prim(${e}))`,
  text`(() => { try { return [prim(2) ** prim(3), prim("p") in o, o[prim("p", ${e})], prim(1) == 1, \`\${prim("x")}\`, -prim(1n), prim(2) < prim(3, ${e})]; } catch (error) { return kind(error); } })()`,
  text`(() => { try { return [2n ** 3n, 5n / 2n, -7n % 3n, 1n << 3n, ~1n, 2n > 1, 1n == 1, typeof 1n, 3n * ${e}]; } catch (error) { return kind(error); } })()`,
  text`(() => { let z = 5n; z++; --z; const y = z++; return [y, z, z += 2n, z **= 2n, z &&= 3n]; })()`,
  text`new (function (...all) { this.n = all.length; this.t = new.target !== undefined; return ${e}; })(...it(2), ...${name} ? [1] : "xy").n`,
  text`(() => { try { return new o.m(${e}); } catch (error) { return kind(error); } })()`,
  text`"a-b-c".replace(/(?<l>\\w)-/g, (m, l, i) => t(l) + i + ${e})`,
  text`[..."a1b22".matchAll(/\\d+/g)].map(([x]) => x).concat(/[/\\]]+/y.test("/"), /\\u{61}/u.exec("a").index)`,
  text`(o?.[t("m")]?.(...it(1), ${e})?.deep ?? o.none?.[t("never")].x)`,
  text`delete o?.[t("q")]`,
  text`(xs[t(0)] += (${target} = ${e}))`,
  text`({ ...null, ...it(1), ..."ab", ${name}, [t("p")]: ${e}, __proto__: null, async *g() {}, get [t("x")]() { return 1; } }).x`,
  text`(${p} = [{ a: 1, length: 2 }, [3]])`.map(
    (x) => `(() => { try { return typeof ${x}; } catch (error) { return kind(error); } })()`,
  ),
  text`(void 0, typeof ${name}, ${e}) ? (${e}, 1) : [,, ...it(1),].length`,
  text`steps((function* () { try { return t(${e}); } finally { t(yield ${e}); } })(), ["next", "return", "next"])`,
];

/** What generators do where they are left. */
export const generatorForms: Forms = (text, { e, s, target, name }) => [
  text`try { yield ${e}; } finally { yield* it(2); t("after"); }`,
  text`try { yield* bad(Math.abs(${e} | 0) % 7); } catch (error) { t(kind(error)); } finally { yield 1; }`,
  text`for (;;) { try { t(yield ${e}); if (t(${e})) break; } finally { if (xs.length > 3) break; xs.push(0); } }`,
  text`try { try { yield 1; } finally { yield 2; ${s} } } catch (error) { t(kind(error)); } finally { try { yield 3; } finally { t("in"); } }`,
  text`l7: try { yield ${e}; return ${e}; } finally { if (t(yield 1)) break l7; }`,
  text`[${target} = yield 1, ...[${name} = yield 2]] = it(2);`,
  text`t({ [yield "k"]: yield "v", ...(yield "s") });`,
  text`t(steps((function* () { try { yield ${e}; } finally { t(yield* bad(Math.abs(${e} | 0) % 7)); yield 4; } })(), ["next", "return", "next", "return", "throw", "next"]));`,
  text`for (const x of bad(Math.abs(${e} | 0) % 7)) { yield x; if (${e}) break; }`,
];

/** Async code: iterations that fail or are left, rejections, waits in odd places. */
export const asyncForms: Forms = (text, { e, s, g }) => [
  text`for await (const x of [later(1), fails(${e}), 3]) { t(x); if (${e}) break; }`,
  text`try { for await (const x of bad(Math.abs(${e} | 0) % 7)) { t(x); ${s} } } catch (error) { t(kind(error)); }`,
  text`for await (const x of (function* () { try { yield later(1); yield fails(${e}); } finally { t("closed"); } })()) { if (x === ${e}) return x; t(x); }`,
  text`l8: for await (const x of it(3)) { for await (const z of (async function* () { ${g} })()) { try { if (${e}) continue l8; if (z === ${e}) break l8; t(z); } finally { t(await "f"); } } }`,
  text`t((await later(${e})) + (await ${e}) * (await later(2)));`,
  text`const o2 = { [await "k"]: await later(${e}), async m() { return super.none ?? ${e}; } }; t(await o2.m());`,
  text`try { return await fails(${e}); } catch (error) { t(kind(error)); } finally { t(await later("f")); }`,
  text`t(await (async (x = fails(1)) => { try { await x; } catch { return ${e}; } })());`,
  text`const g2 = (async function* () { try { t(yield ${e}); yield* bad(4); yield* it(2); return later(5); } finally { t(yield "f"); await null; } })(); const all = await Promise.allSettled([g2.next(), g2.next(1), g2.return(later(2)), g2.next(3), g2.throw(4)]); for (const x of all) { t(x.status); t(x.value?.value); }`,
  text`for (const x of it(2)) { using(await later(x)); function using(v) { t(v); } }`,
];

/** Variables: closures over loops, uses before initialisation, functions in blocks, switch scopes. */
export const scopeForms: Forms = (text, { e, p, s, b, name, target }) => [
  text`for (const x of it(2)) { fs.push(() => x); ${b} }`,
  text`for (let k in { p: 1, q: 2 }) { fs.push(() => k += t("k")); ${b} }`,
  text`for (let i = 0, j = (() => i)(); i < 2; fs.push(() => [i, j]), i++) { let i2 = i; fs.push(() => i2++); ${b} }`,
  text`for (let [x, y = x] of [[1], [2, ${e}]]) { fs.push(() => x + y); x = ${e}; ${b} }`,
  text`try { for (let x of [x]) t(x); } catch (error) { t(kind(error)); }`,
  text`try { const h = () => late; t(${e}); switch (1) { case 0: let inner = 1; default: inner = ${e}; } let late = 1; } catch (error) { t(kind(error)); }`,
  text`try { const fixed = ${e}; fs.push(() => fixed); fixed ??= ${e}; fixed = 2; } catch (error) { t(kind(error)); }`,
  text`{ if (${e}) { function hoisted() { return ${e}; } } t(typeof hoisted); }`,
  text`try { ${s} throw [${e}, 2]; } catch ([first = boom(${e}), ...others]) { var caught = others; t(first); }`,
  text`for (const x of bad(Math.abs(${e} | 0) % 7)) { t(x); ${b} if (${e}) break; }`,
  text`try { ${p} = bad(Math.abs(${e} | 0) % 7); } catch (error) { t(kind(error)); }`.map((x) =>
    x.replace('try { ', 'try { (').replace('; } catch', '); } catch'),
  ),
  text`for (${target} in { p: 1, 2: 3 }) ${b}`,
  text`l9: { try { break l9; } finally { ${s} } }`,
  text`{ let n = 2; l10: do { try { if (${e}) continue l10; ${s} } finally { t("f"); } } while (n-- > 0); }`,
  text`l11: for (const x of it(2)) { switch (x) { case ${e}: continue l11; case 0: { ${s} } default: try { if (${e}) break l11; } finally { ${b} } } }`,
  text`{ class Late { static m = () => Late; [${e}] = ${e}; } t(Late.m() === Late); const ${name}2 = Late; t(${name} === Late); }`.map(
    (x) => x.replace(/const \w+ = Late; t\(\w+ === Late\);/, 't(new Late() instanceof Late);'),
  ),
  text`var { ...rest } = ${e} ?? {}; t(typeof rest);`,
  text`outer: for (var i9 = 0; i9 < 2; i9++) { for (;;) { try { ${s} continue outer; } finally { if (t(${e})) break outer; } } }`,
];
