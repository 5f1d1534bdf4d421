// biome-ignore-all lint/suspicious/noTemplateCurlyInString: cases are source text
import { sameAsNative } from './differential.ts';

sameAsNative('scopes', {
  'bindings per iteration': `
    const fs = []; for (let i = 0, j = () => i; i < 3; i++) { fs.push(() => i, j); i += 0; } for (const k in { a: 1, b: 2 }) fs.push(() => k); for (const [v] of [[1], [2]]) fs.push(() => v);
    for (let n = 0; n < 2; fs.push(() => n), n++) fs.push(() => n); return fs.map((f) => f());`,
  'uses before initialisation': `
    for (const f of [() => { x; let x; }, () => { x = 1; let x; }, () => { typeof x; let x; }, () => { x++; const x = 1; }, () => { let x = x; }, () => { const [a = b, b] = []; }, () => { for (let x of [x]); }, () => { for (let x in x); }, () => { C; class C {} }, () => { g(); let x; function g() { return x; } }, () => { switch (1) { case 0: let x; case 1: x; } }, () => { const f = () => y; f(); let y; }])
      try { log(f()); } catch (e) { log(e); }
    { let z; log(z); }`,
  'closures over what comes later':
    'const f = () => later; let later = 1; later++; return [f(), typeof undeclared];',
  'shadowing in blocks, catch and switch': `
    let x = 1; { let x = 2; log(x); { const x = 3; log(x); } } try { throw 4; } catch (x) { log(x); { let x = 5; log(x); } } switch (x) { case 1: let x = 6; log(x); } for (let x = 7; x < 8; x++) { let x = 9; log(x); } return x;`,
  'variables of a loop that is left and entered again':
    'const fs = []; for (let r = 0; r < 2; r++) { let s; if (r === 0) s = "first"; fs.push(() => s); } return fs.map((f) => f());',
  'unknown names':
    'for (const f of [() => nope, () => { nope = 1; }, () => nope.x, () => nope(), () => { nope += 1; }, () => { nope ??= 1; }]) try { f(); } catch (e) { log(e); } return typeof nope;',
});

sameAsNative('control flow', {
  switch: `
    const f = (x) => { const seen = []; switch (seen.push('d'), x) { case log('a', 1): seen.push(1); case 2: seen.push(2); break; default: seen.push('default'); case 3: seen.push(3); { break; } case '1': seen.push('s'); } return seen; };
    return [1, 2, 3, '1', NaN, 5].map(f);`,
  labels:
    'const seen = []; a: for (let i = 0; i < 3; i++) { b: do { for (const k of spy("k", [1, 2])) { seen.push(i, k); if (i === 0) continue a; if (i === 1) break b; break a; } } while (false); seen.push("after"); } c: { seen.push("c"); break c; } d: e: for (;;) break d; return seen;',
  'every completion through finally': `
    const run = (way, change) => { l: for (let i = 0; i < 2; i++) { try { try { log('try', way, i); if (way === 'return') return 'r'; if (way === 'break') break l; if (way === 'continue') continue; if (way === 'throw') throw 't'; } finally { log('finally'); if (change === 'return') return 'changed'; if (change === 'break') break; if (change === 'continue') continue l; if (change === 'throw') throw 'c'; } } catch (e) { log('caught', e); } finally { log('outer'); } log('end', i); } return 'over'; };
    for (const way of ['none', 'return', 'break', 'continue', 'throw']) for (const change of ['none', 'return', 'break', 'continue', 'throw']) log(way, change, run(way, change));`,
  'iterators are closed on every way out': `
    const run = (way) => { l: for (const o of [0]) { for (const x of spy(way, [1, 2])) { if (way === 'break') break; if (way === 'outer') continue l; if (way === 'return') return x; if (way === 'throw') throw x; if (way === 'pattern') { const [] = 1; } } } };
    for (const way of ['break', 'outer', 'return', 'throw', 'none', 'pattern']) try { log(run(way)); } catch (e) { log(e); }`,
  'closing that fails': `
    const bad = (name, methods) => spy(name, [1, 2, 3], methods);
    for (const answer of [() => 1, () => { throw new Error('close'); }, undefined, 5]) for (const way of ['break', 'throw', 'pattern', 'nested']) try {
      if (way === 'pattern') { const [a] = bad('p', { return: answer }); log(a); } else if (way === 'nested') { const [[b]] = [bad('n', { return: answer })]; log(b); } else for (const x of bad('l', { return: answer })) { if (way === 'break') break; throw new Error('body'); } log('left');
    } catch (e) { log(way, e); }
    for (const next of [() => 1, () => { throw new Error('next'); }, undefined]) try { for (const x of bad('n', { next })) log(x); } catch (e) { log(e.name); }`,
  'for in':
    'const o = { b: 1, a: 2, 1: 3, __proto__: { c: 4, a: 5 } }; const seen = []; for (const k in o) { seen.push(k); delete o.a; o.z = 1; } for (const k in watch("w", { x: 1 })) seen.push(k); for (const k in null) seen.push(k); for (o.last in { q: 1 }); for ([o.q] in { rs: 1 }); return [seen, o];',
  'loops without and with parts':
    'let n = 0; for (;;) if (++n > 3) break; do n--; while (n > 1); while (n < 5) n += 2; for (; n < 9; ) n++; for (let a = 0, b = 10; a < b; a++, b--) n++; return n;',
});

sameAsNative('destructuring', {
  'order of an object pattern':
    'const t = (x) => (log(x), x); const source = watch("s", { a: 1, b: undefined, c: { d: 3 } }); const target = watch("t", {}); ({ a: target[t("ka")], [t("b")]: target[t("kb")] = t("default"), c: { d: target.d }, ...target.rest } = source); return Object.keys(target);',
  'order of an array pattern':
    'const t = (x) => (log(x), x); const target = watch("t", {}); [target[t("k1")], target.b = t("default"), , [target.c] = [5], ...target.rest] = spy("s", [1, undefined, 3, undefined, 6, 7]); return target.rest;',
  'iterators that end early or late':
    'const [a, b = 2, ...c] = spy("short", [1]); const [d] = spy("long", [1, 2]); const [] = spy("none", [1]); const [, ,] = spy("holes", [1, 2, 3]); const [...[e, f]] = spy("nested", [8, 9]); return [a, b, c, d, e, f];',
  'what cannot be destructured':
    'for (const f of [() => { const {} = null; }, () => { const { a } = undefined; }, () => { const [a] = {}; }, () => { const [a] = null; }, ({ a }) => a, ([a]) => a, () => { const { a: { b } } = {}; }]) try { f(); } catch (e) { log(e); }',
  'throws while destructuring close':
    'const boom = () => { throw new Error("boom"); }; for (const f of [() => { const [a, b = boom()] = spy("d", [1, undefined, 3]); }, () => { [{}[boom()]] = spy("t", [1, 2]); }, () => { const [{ x }] = spy("n", [null]); }]) try { f(); } catch (e) { log(e); }',
  'rest and computed keys':
    'const k = { toString() { log("key"); return "x"; } }; const { [k]: x, ...rest } = { x: 1, y: 2, [Symbol.iterator]: 3 }; const { length, ...chars } = "ab"; return [x, rest, length, chars];',
  'values of assignments':
    'let a, b; const source = [1, 2]; log(([a, b] = source) === source, ({ a } = { a: 5 }).a, [a, b] = [b, a]); return [a, b];',
});

sameAsNative('operators', {
  'order and conversions':
    'const v = (n) => ({ valueOf() { log("valueOf", n); return n; }, toString() { log("toString", n); return "s" + n; } }); return [v(1) + v(2), v(1) < v(2), `${v(1)}${v(2)}`, v(1) == 1, -v(3), v(2) ** v(3), [v(1)] + "", v(1) + "x", !v(0), typeof v(1)];',
  'compound assignments and their order':
    'const o = watch("o", { a: 1, b: null }); const t = (x, v = x) => (log(x), v); o[t("a")] += t("right", 2); o.a++; --o.a; o[t("a")] **= 2; o.b ??= t("c"); o.b ||= t("never"); o.a &&= t("and"); let x = 1; x += (x = 5, 2); return [o.a, o.b, x];',
  'keys are converted once or as the engine does':
    'const k = { toString() { log("k"); return "p"; } }; const o = { p: 1 }; o[k]++; o[k] += 1; o[k] ??= 1; delete o[k]; log(k in o); o[k] = 1; return o;',
  'optional chains':
    'const o = { a: { m() { return this === o.a; }, n: null }, f: null }; const t = (x) => (log(x), x); return [o?.a?.m(), o.f?.(t("never")), o.a.n?.[t("never")].x.y(), o?.["a"]?.["m"]?.(), delete o?.a?.n, delete o.q?.[t("never")], (o.q?.x.y), o.a?.n?.z, null?.[t("never")]];',
  'big integers and numbers':
    'let b = 5n; b++; b **= 2n; const r = [b, -b, b / 7n, b % 7n, ~b, b << 3n, typeof b, b > 3, 1n + 2n]; for (const f of [() => 1n + 1, () => +1n, () => b >>> 1n]) try { f(); } catch (e) { log(e); } return [r, 0.1 + 0.2, 5 % -3, -7 >> 1, -7 >>> 28, 1 / -0];',
  'in, instanceof, delete, void, typeof, comma':
    'class A { static [Symbol.hasInstance](x) { log("has", x); return 1; } } for (const f of [() => 1 in 1, () => 1 instanceof 1, () => "x" in {}]) try { log(f()); } catch (e) { log(e); } return [1 instanceof A, [] instanceof Array, void log("v"), typeof null, (log(1), log(2), 3), delete [].x];',
  literals:
    'const k = "k"; const p = { z: 1 }; const o = { a: 1, k, [k + 1]: 2, ...p, ...null, ..."hi", __proto__: p, "__proto__x": 3, get g() { return this.a; }, set g(v) { this.a = v; }, async f() {}, 1e3: 4, 0x10: 5, 10n: 6 }; o.g = 9; return [Object.keys(o), o.g, Object.getPrototypeOf(o) === p, [1, , 2, ...spy("s", [3])], /a(?<n>b)/gi.exec("xAB").groups.n, /x/ === /x/, `a${1}b`];',
  conditions:
    'const t = (x) => (log(x), x); return [t(0) || t("") || t("x"), t(1) && t(null) && t(2), t(null) ?? t(0) ?? t(1), t(1) ? t("y") : t("n"), !(t(0) && t(1)) || t(2), (t(0) || t(1)) && !t(0)];',
});
