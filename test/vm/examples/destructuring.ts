// biome-ignore-all lint/suspicious/noTemplateCurlyInString: examples are source text
import type { Example } from '../world.ts';

const spy = `
  const spy = (items, more = {}) => {
    let i = 0;
    const self = {
      [Symbol.iterator]: () => (log.push('open'), self),
      next: () => (log.push('next'), i < items.length ? { value: items[i++], done: false } : { value: undefined, done: true }),
      return: () => (log.push('return'), {}),
      ...more,
    };
    return self;
  };
  const t = (x) => { log.push(x); return x; };`;

export const destructuring: readonly Example[] = [
  {
    name: 'object patterns',
    fn: '({ a, b: c, d = 4, e: { f, g = 6 } = {}, ...rest }) => [a, c, d, f, g, rest]',
    calls: ['{ a: 1, b: 2, x: 9 }', '{ e: { f: 5 }, d: undefined, y: null }'],
  },
  {
    name: 'array patterns',
    fn: '([a, , b = 3, [c] = [4], ...rest]) => [a, b, c, rest]',
    calls: ['[1, 2]', '[1, 2, undefined, [5], 6, 7]', '[0]', '""'],
  },
  {
    name: 'array pattern asks for what it names',
    fn: '() => { const [a, b] = spy([1, 2, 3]); return [a, b]; }',
    env: spy,
  },
  {
    name: 'array pattern does not close what is exhausted',
    fn: '() => { const [a, b, c] = spy([1]); return [a, b, c]; }',
    env: spy,
  },
  {
    name: 'array rest exhausts',
    fn: '() => { const [a, ...b] = spy([1, 2, 3]); return [a, b]; }',
    env: spy,
  },
  { name: 'empty array pattern opens and closes', fn: '() => { const [] = spy([1]); }', env: spy },
  {
    name: 'a failing default closes the iterator',
    fn: '() => { const [a, b = boom()] = spy([1, undefined, 3]); }',
    env: `${spy} const boom = () => { throw new Error("boom"); }`,
  },
  {
    name: 'a failing next does not close',
    fn: '() => { const [a] = spy([1], { next() { throw new Error("next"); } }); }',
    env: spy,
  },
  {
    name: 'defaults run only for undefined',
    fn: '([a = t("a"), b = t("b")], { c = t("c"), d = t("d") }) => [a, b, c, d]',
    env: spy,
    calls: ['[null], { c: 0 }', '[undefined, 1], {}'],
  },
  {
    name: 'computed keys',
    fn: '(o, k) => { const { [k + "1"]: a, [`${k}2`]: b = 5, ...rest } = o; return [a, b, rest]; }',
    calls: ['{ x1: 1, x3: 3 }, "x"'],
  },
  {
    name: 'computed keys convert once',
    fn: '(o) => { const { [key]: a, ...rest } = o; return [a, rest]; }',
    env: 'const key = { toString() { log.push("convert"); return "k"; } };',
    calls: ['{ k: 1, l: 2 }'],
  },
  {
    name: 'object rest leaves excluded getters alone',
    fn: '(o) => { const { a, ...rest } = o; return [a, rest]; }',
    calls: [
      '{ get a() { log.push("a"); return 1; }, get b() { log.push("b"); return 2; }, __proto__: { c: 3 } }',
      '"xy"',
    ],
  },
  {
    name: 'order of object patterns',
    fn: '(o) => { const { [t("k1")]: a = t("d1"), [t("k2")]: b = t("d2") } = o; return [a, b]; }',
    env: spy,
    calls: ['{ get k1() { log.push("get k1"); }, get k2() { log.push("get k2"); return 2; } }'],
  },
  {
    name: 'assignment patterns',
    fn: '(o) => { let a, b, rest; ({ a, b = 2, ...rest } = o); [a, b] = [b, a]; return [a, b, rest]; }',
    calls: ['{ a: 1, c: 3 }'],
  },
  {
    name: 'assignment patterns to properties',
    fn: '(o) => { [o.x, o["y"], o.z = 5] = [1, 2]; ({ p: o.p, q: [o.q] } = { p: 3, q: [4] }); return o; }',
    calls: ['{}'],
  },
  {
    name: 'assignment targets are evaluated before their values',
    fn: '() => { [obj("a")[t("k")], obj("b").p = t("default")] = spy([1]); return objs; }',
    env: `${spy} const objs = { a: {}, b: {} }; const obj = (n) => { log.push(n); return objs[n]; };`,
  },
  {
    name: 'object assignment targets are evaluated before the read',
    fn: '() => { ({ [t("p")]: obj().x = t("default") } = src); return [o]; }',
    env: `${spy} const o = {}; const obj = () => { log.push("target"); return o; }; const src = { get p() { log.push("get"); } };`,
  },
  {
    name: 'target keeps its object and key',
    fn: '(o, i) => { [o[i], o[(i = 2)] = (o = null)] = [1]; return [o, i]; }',
    calls: ['{ n: 1 }, 0'],
  },
  {
    name: 'value of a destructuring assignment',
    fn: '() => { let a, b; const v = ([a, b] = [1, 2, 3]); return [v, a, b]; }',
  },
  {
    name: 'destructuring its own variable',
    fn: '(o) => { ({ x: o, y: o.z } = o); return o; }',
    calls: ['{ x: { q: 1 }, y: 2 }'],
  },
  {
    name: 'var destructures itself',
    fn: '(o) => { var { o, p } = o; return [o, p]; }',
    calls: ['{ o: 1, p: 2 }'],
  },
  {
    name: 'swap in an array',
    fn: '(a, i, j) => { [a[i], a[j]] = [a[j], a[i]]; return a; }',
    calls: ['[1, 2, 3], 0, 2'],
  },
  {
    name: 'names used in later defaults',
    fn: '({ a, b = a + 1 }, [c = b, d = c * 2] = []) => [a, b, c, d]',
    calls: ['{ a: 1 }'],
  },
  {
    name: 'names used in earlier defaults',
    fn: '(o) => { const { a = b, b } = o; return [a, b]; }',
    calls: ['{ a: 1, b: 2 }', '{ b: 2 }'],
  },
  {
    name: 'nested default runs before its pattern',
    fn: '() => { const [[a, b] = [1, 2], c = a + b] = []; return [a, b, c]; }',
  },
  {
    name: 'nested default that uses its own pattern',
    fn: '() => { const [[a] = [a]] = []; return a; }',
  },
  { name: 'self default', fn: '(a = a) => a', calls: ['1', ''] },
  {
    name: 'destructuring undefined',
    fn: '(x) => { const { a } = x; return a; }',
    calls: ['undefined', 'null', '5'],
  },
  {
    name: 'destructuring a member',
    fn: '(x) => { const { a: b } = x.y; return b; }',
    calls: ['{}', '{ y: null }', '{ y: { a: 1 } }'],
  },
  {
    name: 'destructuring the result of a call',
    fn: '(f) => { const { a } = f(1).g(); return a; }',
    calls: ['() => ({ g() {} })'],
  },
  { name: 'destructuring a missing parameter', fn: '({ a }) => a', calls: ['', '{ a: 1 }'] },
  { name: 'destructuring in depth', fn: '({ a: { b } }) => b', calls: ['{}', '{ a: { b: 1 } }'] },
  {
    name: 'destructuring with a default first',
    fn: '(x) => { const { a = 1 } = x; return a; }',
    calls: ['null', '{}'],
  },
  { name: 'empty object pattern', fn: '(x) => { const {} = x; return x; }', calls: ['null', '5'] },
  {
    name: 'object rest alone',
    fn: '(x) => { const { ...r } = x; return r; }',
    calls: ['undefined', '{ a: 1 }', '[1, 2]'],
  },
  {
    name: 'array pattern of undefined',
    fn: '(x) => { const [a] = x; return a; }',
    calls: ['undefined', '5', '{}'],
  },
  {
    name: 'array pattern of a call',
    fn: '(f) => { const [a] = f(); return a; }',
    calls: ['() => {}'],
  },
  { name: 'array parameter missing', fn: '([a]) => a', calls: ['', '5', 'null'] },
  {
    name: 'keys of all kinds',
    fn: '({ "a b": x, 0: y, [Symbol.iterator]: z }) => [x, y, typeof z]',
    calls: ['{ "a b": 1, 0: 2 }', '[9]'],
  },
  {
    name: 'captured pattern names',
    fn: '({ a, b: [c, ...d] }) => { const f = () => [a, c, d]; a++; return f(); }',
    calls: ['{ a: 1, b: [2, 3] }'],
  },
];
