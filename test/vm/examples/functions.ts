// biome-ignore-all lint/suspicious/noTemplateCurlyInString: examples are source text
import type { Example } from '../world.ts';

export const functions: readonly Example[] = [
  {
    name: 'calls evaluate callee, receiver and arguments once and in order',
    fn: '() => get("o").m(get("a"), ...get("b"), get("c"))',
    env: 'const get = (n) => { log.push(n); return { o: { m(...xs) { return [this === undefined, xs]; } }, a: 1, b: [2, 3], c: 4 }[n]; }',
  },
  {
    name: 'this of calls',
    fn: '(o) => { const f = o.f; return [o.f(), f(), o["f"](), (0, o.f)(), (o.f)()]; }',
    calls: ['{ n: 1, f() { "use strict"; return this && this.n; } }'],
  },
  { name: 'this of the function', fn: 'function () { return this; }', self: '5' },
  {
    name: 'this in sloppy code',
    fn: 'function () { return [typeof this, this === globalThis]; }',
    self: '5',
    sloppy: true,
  },
  {
    name: 'missing this in sloppy code',
    fn: 'function () { return this === globalThis; }',
    sloppy: true,
  },
  { name: 'use strict inside', fn: 'function () { "use strict"; return this; }', sloppy: true },
  {
    name: 'method of this',
    fn: 'function (x) { this.n += x; return this.get(); }',
    self: '({ n: 1, get() { return this.n; } })',
    calls: ['2'],
  },
  {
    name: 'arrow takes this',
    fn: 'function () { const f = () => { const g = () => this.n; return g(); }; return f.call({ n: 2 }); }',
    self: '({ n: 1 })',
  },
  {
    name: 'inner function has its own this',
    fn: 'function () { const f = function () { return this; }; return [f(), f.call(3)]; }',
    self: '({ n: 1 })',
  },
  {
    name: 'new',
    fn: '(C) => [new C(1, 2), new C(...[3, 4]), new C]',
    env: 'class P { constructor(a, b) { this.a = a; this.b = b; } }',
    calls: ['P', 'Array'],
  },
  {
    name: 'new of an inner function',
    fn: '() => { function P(x) { if (!new.target) return "called"; this.x = x; } P.prototype.get = function () { return this.x; }; return [new P(5).get(), P(1), new P(6) instanceof P]; }',
  },
  {
    name: 'new of an inner function that returns an object',
    fn: '() => { function P() { return { own: true }; } return new P(); }',
  },
  { name: 'new of an arrow', fn: '() => { const f = () => 1; return new f(); }' },
  { name: 'new of an inner method', fn: '() => { const o = { m() {} }; return new o.m(); }' },
  {
    name: 'new of a non-constructor',
    fn: '(C) => new C.x(1)',
    calls: ['{}', '{ x: 5 }', '{ x: () => 1 }', '{ x: Math.max }', 'null'],
  },
  { name: 'constructor throws', fn: '(n) => new Array(n)', calls: ['-1'] },
  {
    name: 'optional chains',
    fn: '(o) => [o?.a, o?.a.b, o?.a?.b.c, o?.["a"], o?.f?.(1), o?.f(2), o.a?.b]',
    calls: [
      '{ a: { b: { c: 1 } }, f(x) { return [x, this === o2]; } }',
      'null',
      'undefined',
      '{ a: null, f: null }',
      '{ f: (x) => x }',
    ],
    env: 'const o2 = 1',
  },
  {
    name: 'optional chain skips everything after',
    fn: '(o) => o?.a[log.push("key")].b(log.push("arg"))',
    calls: ['null', '{ a: [{}, { b(x) { return x; } }] }'],
  },
  {
    name: 'parenthesised chain keeps this',
    fn: '(o) => (o?.f)()',
    calls: ['{ n: 7, f() { return this.n; } }', 'null'],
  },
  {
    name: 'chain as argument in a chain',
    fn: '(a, b) => a?.f(b?.x, b.y?.z)',
    calls: ['{ f(...x) { return x; } }, { x: 1 }', 'null, null'],
  },
  {
    name: 'delete of a chain',
    fn: '(o) => [delete o?.a.b, delete o?.c, o]',
    calls: ['{ a: { b: 1 }, c: 2 }', 'null'],
  },
  {
    name: 'optional call of undefined method is an error',
    fn: '(o) => o.f?.().g.h',
    calls: ['{}', '{ f() { return {}; } }'],
  },
  {
    name: 'spread',
    fn: '(a, b) => [[...a], [0, ...a, 1, ...b, 2], Math.max(...a, ...b)]',
    calls: ['[1, 2], new Set([3])', '"xy", []'],
  },
  { name: 'spread of something else', fn: '(a) => [1, ...a]', calls: ['undefined', '5'] },
  {
    name: 'spread takes no more than it is given',
    fn: '() => [...gen(), ...gen()]',
    env: 'const gen = function* () { log.push("start"); yield 1; yield 2; log.push("end"); }',
  },
  { name: 'holes', fn: '() => { const a = [1, , 3, , ]; return [a, a.length, 1 in a]; }' },
  {
    name: 'object literals',
    fn: '(a, k) => ({ a, [k]: 1, "s t": 2, 3: 4, ["x" + k]: 5, ...a, a: 6 })',
    calls: ['{ q: 1 }, "key"', 'null, Symbol.iterator', '"xy", 7'],
  },
  {
    name: 'object literals evaluate keys and values in turn',
    fn: '() => ({ [k("a")]: v(1), [k("b")]: v(2) })',
    env: 'const k = (n) => { log.push(n); return { toString() { log.push(`${n}!`); return n; } }; }; const v = (x) => { log.push(x); return x; };',
  },
  {
    name: 'object spread runs getters and copies own keys',
    fn: '(o) => ({ ...o, z: 1 })',
    calls: [
      '{ get x() { log.push("x"); return 1; }, [Symbol.for("s")]: 2, __proto__: { inherited: 1 } }',
      'JSON.parse(\'{"__proto__": 5}\')',
    ],
  },
  {
    name: 'methods in literals',
    fn: '(n) => { const o = { n, get2() { return this.n * 2; }, ["m" + n]() { return 1; }, f: function () { return this === o; } }; return [o.get2(), o.f(), o.get2.name, o["m" + n].name, o.f.name]; }',
    calls: ['4'],
  },
  {
    name: 'names of functions',
    fn: '(k) => { const f = () => {}; let g = function () {}; var h = function named() {}; const o = { a: () => {}, [k]: () => {}, b: function () {} }; let l; l ??= () => {}; const { d = () => {} } = {}; l = l; return [f, g, h, o.a, o[k], o.b, l, d, (() => {}), ((p = () => {}) => p)()].map((x) => x.name); }',
    calls: ['"key"', 'Symbol("sym")', 'Symbol()'],
  },
  {
    name: 'lengths of functions',
    fn: '() => [(a, b) => {}, (a, b = 1, c) => {}, (...r) => {}, ({ a }, [b]) => {}, function (a) {}].map((f) => f.length)',
  },
  {
    name: 'kinds of inner functions',
    fn: '() => { const a = () => {}; function f() {} const o = { m() {} }; return [a, f, o.m].map((x) => [typeof x, "prototype" in x]); }',
  },
  {
    name: 'recursion of an inner function',
    fn: '(n) => { const fact = (k) => (k <= 1 ? 1 : k * fact(k - 1)); return fact(n); }',
    calls: ['6'],
  },
  {
    name: 'named function expression sees itself',
    fn: '(n) => { const f = function me(k) { return k === 0 ? typeof me : me(k - 1); }; return f(n); }',
    calls: ['3'],
  },
  {
    name: 'named function expression in a loop',
    fn: '() => { const all = []; for (let i = 0; i < 2; i++) all.push(function me() { return me; }); return [all[0]() === all[0], all[1]() === all[0]]; }',
  },
  {
    name: 'closures share variables',
    fn: '() => { let n = 0; const add = (k) => (n += k); const read = () => n; add(2); n++; add(3); return [n, read()]; }',
  },
  {
    name: 'closures per iteration of for',
    fn: '() => { const fns = []; for (let i = 0; i < 3; i++) { fns.push(() => i, () => i++); } fns[1](); return fns.map((f) => f()); }',
  },
  {
    name: 'closure in the head of for',
    fn: '() => { const out = []; for (let i = 0, f = () => i, g = () => i++; i < 3; i++) { out.push(f(), g(), i); } return out; }',
  },
  {
    name: 'closure in test and update of for',
    fn: '() => { const out = []; for (let i = 0; out.push(() => i), i < 2; out.push(() => i), i++) {} return out.map((f) => f()); }',
  },
  {
    name: 'continue with closures per iteration',
    fn: '() => { const out = []; for (let i = 0; i < 4; i++) { out.push(() => i); if (i % 2) continue; i++; } return out.map((f) => f()); }',
  },
  {
    name: 'closures per iteration of for-of',
    fn: '() => { const out = []; for (const [k, v] of [[1, 2], [3, 4]]) out.push(() => k * v); return out.map((f) => f()); }',
  },
  {
    name: 'closures per block in while',
    fn: '() => { const out = []; let n = 0; while (n < 3) { const k = n++; let m; out.push(() => [k, m, n]); m = k * 2; } return out.map((f) => f()); }',
  },
  {
    name: 'var is shared by closures',
    fn: '() => { const out = []; for (var i = 0; i < 3; i++) { var v = i; out.push(() => [i, v]); } return out.map((f) => f()); }',
  },
  {
    name: 'closure before initialisation',
    fn: '(early) => { const f = () => x; if (early) f(); let x = 1; return f(); }',
    calls: ['0', '1'],
  },
  {
    name: 'declared function before initialisation',
    fn: '(early) => { if (early) f(); const x = 1; return f(); function f() { return x; } }',
    calls: ['0', '1'],
  },
  {
    name: 'closure writes before initialisation',
    fn: '() => { const f = () => { x = 1; }; f(); let x; }',
  },
  {
    name: 'typeof in a closure before initialisation',
    fn: '() => { const f = () => typeof x; const t = f(); let x = 1; return t; }',
  },
  {
    name: 'closures three deep',
    fn: '(a) => { let b = 1; return [1, 2].map((c) => { let d = c; return [3].map((e) => { b++; d += e; return [a, b, c, d].map((x) => x + e); }); }); }',
    calls: ['10'],
  },
  {
    name: 'closure over a parameter',
    fn: '(a, [b], { c }, d = () => a++) => { const f = () => [a, b, c]; d(); a++; b++; c++; return f(); }',
    calls: ['1, [2], { c: 3 }'],
  },
  {
    name: 'closure in a switch',
    fn: '(x) => { switch (x) { case 1: let a = 5; return (() => a)(); default: return (() => a)(); } }',
    calls: ['1', '2'],
  },
  {
    name: 'returned closures live on',
    fn: '() => { let n = 0; return { inc: () => ++n, get: () => n }; }',
    look: '(result.inc(), result.inc(), result.get())',
  },
  {
    name: 'default sees other parameters',
    fn: '(a, b = a + 1, c = () => a + b) => { a = 10; return [a, b, c()]; }',
    calls: ['1', '1, 5', '1, undefined, () => "own"'],
  },
  { name: 'default uses a later parameter', fn: '(a = b, b = 1) => [a, b]', calls: ['', '1'] },
  {
    name: 'default closure does not see the body',
    fn: '(a, f = () => a) => { var a = 2; return [a, f()]; }',
    calls: ['1'],
  },
  {
    name: 'var copies the parameter once',
    fn: '(a, f = () => a) => { var a; const first = a; a = 3; return [first, a, f()]; }',
    calls: ['1'],
  },
  { name: 'rest parameters', fn: '(a, ...r) => [a, r, r.length]', calls: ['', '1', '1, 2, 3'] },
  { name: 'rest pattern', fn: '(...[a, { b }, ...c]) => [a, b, c]', calls: ['1, { b: 2 }, 3, 4'] },
  { name: 'missing arguments', fn: '(a, b) => [a, b]', calls: ['', '1'] },
  {
    name: 'parameters are variables',
    fn: '(a, b) => { a = b; b++; return [a, b]; }',
    calls: ['1, 2'],
  },
  {
    name: 'free names are read and written',
    fn: '(x) => { total += x; count++; last = x; return [total, count, typeof last]; }',
    env: 'let total = 10, count = 0, last;',
    calls: ['1', '2'],
  },
  { name: 'free constants', fn: '() => { fixed = 2; }', env: 'const fixed = 1;' },
  { name: 'unknown names', fn: '(x) => x ? missing : (missing = 1)', calls: ['0', '1'] },
  {
    name: 'free names of inner functions',
    fn: '(x) => [1, 2].map((y) => (total += x * y))',
    env: 'let total = 0;',
    calls: ['3'],
  },
  {
    name: 'a global',
    fn: '(x) => Math.max(x, parseInt("7"), Number.MAX_SAFE_INTEGER > 0)',
    calls: ['3'],
  },
  {
    name: 'getters and setters of objects',
    fn: '(o) => { o.p = o.p + 1; o.p++; return o.p; }',
    calls: [
      '{ v: 1, get p() { log.push("get"); return this.v; }, set p(x) { log.push("set"); this.v = x; } }',
    ],
  },
  {
    name: 'callbacks get their arguments',
    fn: '(xs) => xs.map((x, i, all) => [x, i, all.length]).filter(([x]) => x).reduce((a, [b]) => a + b, "")',
    calls: ['[3, 0, 5]'],
  },
  {
    name: 'sort with a comparator',
    fn: '(xs) => [...xs].sort((a, b) => b - a)',
    calls: ['[1, 3, 2]'],
  },
];
