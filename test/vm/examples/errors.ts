import type { Example } from '../world.ts';

export const errors: readonly Example[] = [
  { name: 'calling a variable', fn: '(f) => f(1)', calls: ['undefined', '5', '{}'] },
  { name: 'calling a method', fn: '(o) => o.a.b(1)', calls: ['{ a: {} }', '{}', 'null'] },
  { name: 'calling an element', fn: '(o, k) => o[k](1)', calls: ['{}, "x"', '[], 0'] },
  { name: 'calling elements with literal keys', fn: '(o) => o[0]()', calls: ['[]'] },
  { name: 'calling a named element', fn: '(o) => o["q r"]()', calls: ['{}'] },
  { name: 'calling a result', fn: '(f) => f()()', calls: ['() => 1'] },
  { name: 'calling a method of a result', fn: '(f) => f(1, 2).x()', calls: ['() => 1'] },
  { name: 'calling a method of this', fn: 'function () { return this.x(); }', self: '({})' },
  { name: 'calling with spread', fn: '(o) => o.f(...[1])', calls: ['{}'] },
  { name: 'calling a choice', fn: '(o) => (o.a || o.b)()', calls: ['{}'] },
  { name: 'calling an optional method', fn: '(o) => o?.f()', calls: ['{}', '{ f: 1 }'] },
  {
    name: 'arguments run before the callee is checked',
    fn: '(f) => f(log.push("arg"))',
    calls: ['null'],
  },
  {
    name: 'reading properties of null',
    fn: '(o) => o.a.b.c',
    calls: ['null', 'undefined', '{}', '{ a: {} }'],
  },
  {
    name: 'reading elements of undefined',
    fn: '(o, k) => o[k]',
    calls: ['undefined, 0', 'null, "x"', 'null, Symbol.iterator'],
  },
  { name: 'writing properties of undefined', fn: '(o) => { o.x.y = 1; }', calls: ['{}'] },
  {
    name: 'operators',
    fn: '(a, b) => a + b',
    calls: ['1n, 1', 'Symbol("s"), 1', '1, Symbol("s")'],
  },
  { name: 'unary plus of BigInt', fn: '(a) => +a', calls: ['1n'] },
  { name: 'in of a primitive', fn: '(o) => "a" in o', calls: ['5', '"s"'] },
  { name: 'errors in callbacks', fn: '(xs) => xs.map((x) => x.y.z)', calls: ['[{}]'] },
  {
    name: 'errors in inner functions name their own text',
    fn: '(o) => { const go = () => o.missing.deeper(); return go(); }',
    calls: ['{}', '{ missing: {} }'],
  },
  { name: 'new of a variable', fn: '(C) => new C()', calls: ['undefined', '() => 1', '{}'] },
  { name: 'new with spread', fn: '(o) => new o.C(...[1])', calls: ['{}'] },
];
