// biome-ignore-all lint/suspicious/noTemplateCurlyInString: examples are source text
import type { Example } from '../world.ts';

/** for-in, tagged templates, accessors, prototypes, arguments. */
export const objects: readonly Example[] = [
  {
    name: 'for in',
    fn: '(o) => { const names = []; for (const k in o) names.push(k); return names; }',
    calls: [
      '{ b: 1, a: 2, 1: 3, 0: 4, [Symbol.iterator]: 5 }',
      'Object.create({ a: 1, c: 2 }, { a: { value: 1 }, b: { value: 2, enumerable: true } })',
      '[5, 6]',
      '"xy"',
      'null',
      'undefined',
      '7',
    ],
  },
  {
    name: 'for in sees deletions',
    fn: '(o) => { const names = []; for (const k in o) { names.push(k); delete o.b; o.z = 1; } return names; }',
    calls: ['{ a: 1, b: 2, c: 3 }'],
  },
  {
    name: 'for in with jumps',
    fn: '(o) => { let s = ""; out: for (var k in o) { for (const l in o) { if (l === "b") continue out; if (k === "c") break out; s += k + l; } } return [s, k]; }',
    calls: ['{ a: 1, b: 2, c: 3 }'],
  },
  {
    name: 'for in into properties and patterns',
    fn: '(o) => { const to = {}; for (to.key in o); for (const { length } in o) log.push(length); for (let [x, y = x] in o) log.push(x + y); return to; }',
    calls: ['{ aa: 1, b: 2 }'],
  },
  {
    name: 'for in has a variable per turn',
    fn: '(o) => { const fs = []; for (let k in o) fs.push(() => k); return fs.map((f) => f()); }',
    calls: ['{ a: 1, b: 2 }'],
  },
  {
    name: 'for in of a proxy',
    fn: '(o) => { const names = []; try { for (const k in o) names.push(k); } catch (e) { names.push(e.message); } return names; }',
    env: 'const traps = { ownKeys(t) { log.push("keys"); return Reflect.ownKeys(t); }, getOwnPropertyDescriptor(t, k) { log.push(k); if (k === "bad") throw new Error("bad"); return Reflect.getOwnPropertyDescriptor(t, k); } };',
    calls: ['new Proxy({ a: 1, b: 2 }, traps)', 'new Proxy({ a: 1, bad: 2, c: 3 }, traps)'],
  },
  {
    name: 'for in before its own variable',
    fn: '() => { for (const k in k) log.push(k); }',
  },
  {
    name: 'sloppy for in with initial value',
    fn: 'function (o) { for (var k = log.push("init") in o) log.push(k); return k; }',
    calls: ['{ a: 1 }', '{}'],
    sloppy: true,
  },
  {
    name: 'return and throw from for in in try',
    fn: '(o) => { try { for (const k in o) { if (o[k] === 2) return k; if (o[k] === 3) throw k; } } catch (e) { return [e]; } finally { log.push("f"); } }',
    calls: ['{ a: 1, b: 2 }', '{ a: 3 }', '{}'],
  },
  {
    name: 'tagged template',
    fn: '(x) => tag`a${x}b\\n${x + 1}`',
    env: 'const tag = (strings, ...values) => [strings, strings.raw, Object.isFrozen(strings), Object.isFrozen(strings.raw), Object.getOwnPropertyDescriptor(strings, "raw").enumerable, values];',
    calls: ['1'],
  },
  {
    name: 'tagged template hands over one object per site',
    fn: '() => { const seen = []; const tag = (s) => seen.push(s); const go = () => tag`x`; go(); go(); tag`x`; return [seen[0] === seen[1], seen[0] === seen[2]]; }',
  },
  {
    name: 'tagged template with invalid escapes',
    fn: '() => ((s) => [s[0], s.raw[0]])`\\unicode`',
  },
  {
    name: 'tagged template of a method',
    fn: '(o) => [o.f`1`, o["f"]`${2}`, o.g`a``b`]',
    calls: [
      '{ n: 5, f(s, x) { return [this.n, s[0], x]; }, g(s) { return (t) => [s[0], t[0]]; } }',
      '{}',
    ],
  },
  { name: 'tag that is no function', fn: '(f) => f`x`', calls: ['5'] },
  {
    name: 'getters and setters',
    fn: '(k) => { let n = 1; const o = { get a() { return n; }, set a(v) { n = v * 2; }, get [k]() { return this.a; }, set "b c"(v) {}, get 5() { return 5; } }; o.a = 5; return [o.a, o[k], Object.getOwnPropertyDescriptors(o), ["a", k, "b c", "5"].map((x) => { const d = Object.getOwnPropertyDescriptor(o, x); return [d.get?.name, d.set?.name, d.get?.length, d.set?.length]; })]; }',
    calls: ['"dyn"', 'Symbol("s")'],
  },
  {
    name: 'accessors and data properties replace each other',
    fn: '() => { const o = { a: 1, get a() { return 2; }, b: 1, set b(v) {}, get c() { return 1; }, c: 3 }; return [o, Object.getOwnPropertyDescriptors(o)]; }',
  },
  {
    name: 'accessors are no constructors',
    fn: '() => { const d = Object.getOwnPropertyDescriptor({ get a() { return 1; } }, "a"); return ["prototype" in d.get, new d.get()]; }',
  },
  {
    name: 'accessor throws',
    fn: '() => { const o = { get a() { throw new Error("get"); } }; try { return o.a; } catch (e) { return e.message; } }',
  },
  {
    name: 'prototype of a literal',
    fn: '(p) => { const o = { a: 1, __proto__: p, b: 2 }; return [Object.getPrototypeOf(o) === p, Object.keys(o), o.inherited]; }',
    calls: ['{ inherited: 5 }', 'null', '5', 'undefined', '() => 1'],
  },
  {
    name: 'prototype that is only a name',
    fn: '(p) => { const __proto__ = p; return [{ __proto__ }, { ["__proto__"]: p }, { "__proto__": null }, { __proto__() {} }].map((o) => [Object.getPrototypeOf(o) === Object.prototype, Object.keys(o)]); }',
    calls: ['1'],
  },
  {
    name: 'functions as prototypes get no name',
    fn: '() => Object.getPrototypeOf({ __proto__: function () {} }).name',
  },
  {
    name: 'arguments',
    fn: 'function (a, b) { a = 5; arguments[1] = 7; return [arguments.length, [...arguments], a, b, Object.prototype.toString.call(arguments), arguments === arguments]; }',
    calls: ['1, 2, 3', '', '1'],
  },
  {
    name: 'arguments in arrows and inner functions',
    fn: 'function () { const f = () => arguments[0]; function g() { return arguments.length; } return [f(9), g(1, 2), (() => () => arguments.length)()()]; }',
    calls: ['"own", 2'],
  },
  {
    name: 'arguments in a default',
    fn: 'function (a, b = arguments.length, ...rest) { return [a, b, rest, arguments.length]; }',
    calls: ['1', '1, 2, 3'],
  },
  {
    name: 'arguments are refused as callee',
    fn: 'function () { try { return arguments.callee; } catch (e) { return e.name; } }',
  },
  {
    name: 'apply with arguments',
    fn: 'function () { return Math.max.apply(null, arguments) + Array.from(arguments, (x) => x * 2).length; }',
    calls: ['1, 5, 3'],
  },
];
