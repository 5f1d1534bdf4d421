// biome-ignore-all lint/suspicious/noTemplateCurlyInString: examples are source text
import type { Example } from '../world.ts';

export const operators: readonly Example[] = [
  { name: 'arithmetic', fn: '(x, y) => (x + y) * 2 - x / y % 3 ** 2', calls: ['7, 2', '1n, 2n'] },
  {
    name: 'bitwise',
    fn: '(x) => [x << 2, x >> 1, x >>> 1, x & 6, x | 9, x ^ 5, ~x]',
    calls: ['-13'],
  },
  {
    name: 'comparison',
    fn: '(a, b) => [a < b, a <= b, a > b, a >= b, a == b, a != b, a === b]',
    calls: ['1, 2', '"2", 2', 'NaN, NaN', 'null, undefined'],
  },
  {
    name: 'unary',
    fn: '(x) => [-x, +x, !x, typeof x, void x, -5, -0]',
    calls: ['3', '"4"', 'null', '1n'],
  },
  {
    name: 'typeof of names',
    fn: '() => [typeof known, typeof unknownName, typeof undefined]',
    env: 'let known = 1',
  },
  {
    name: 'typeof before initialisation',
    fn: '() => { const t = typeof x; let x = 1; return t + x; }',
  },
  {
    name: 'left operand is read before the right one writes it',
    fn: '(x) => { const a = x + (x = 5) + x; return [a, x]; }',
    calls: ['1'],
  },
  {
    name: 'left operand before an increment',
    fn: '(x) => [x + x++ + x, x, x-- - --x, x]',
    calls: ['1', '1n'],
  },
  {
    name: 'argument is read before a later one writes it',
    fn: '(x) => [x, x = 2, x, x += 3, x]',
    calls: ['1'],
  },
  {
    name: 'update keeps BigInt',
    fn: '(x) => { x++; ++x; const old = x--; return [x, old]; }',
    calls: ['1n', '"7"', 'null', '{}'],
  },
  {
    name: 'update of properties',
    fn: '(o) => [o.a++, ++o.a, o.b["c"]--, --o.b.c, o]',
    calls: ['{ a: 1, b: { c: 5 } }'],
  },
  {
    name: 'compound assignment of variables',
    fn: '(x) => { x += 2; x *= x; x -= 1; x /= 4; x **= 2; x %= 7; x <<= 1; x |= 1; return x; }',
    calls: ['1', '3'],
  },
  {
    name: 'compound assignment takes the old value',
    fn: '(x) => { x += (x = 10); return x; }',
    calls: ['1'],
  },
  {
    name: 'compound assignment of members evaluates its parts once',
    fn: '() => { get("o")[get("k")] += get("v"); return o; }',
    env: 'const o = { k1: 1 }; const get = (n) => { log.push(n); return { o, k: "k1", v: 4 }[n]; }',
  },
  {
    name: 'computed key with side effects',
    fn: '(i) => { const a = [0, 0, 0]; a[i++] = i++; a[i] = i; return [a, i]; }',
    calls: ['0'],
  },
  {
    name: 'assignment evaluates object, key, value, then converts the key',
    fn: '() => { obj()[key()] = val(); }',
    env: 'const obj = () => { log.push("obj"); return {}; }; const key = () => { log.push("key"); return { toString() { log.push("toString"); return "k"; } }; }; const val = () => { log.push("val"); };',
  },
  {
    name: 'assignment to a property of null evaluates the value first',
    fn: '(o) => { o.x = (log.push("value"), 1); }',
    calls: ['null', 'undefined'],
  },
  {
    name: 'chained assignment',
    fn: '() => { let a, b, c; a = b = c = [1]; b.push(2); const d = (a = 5) + a; return [a, b, c, d]; }',
  },
  {
    name: 'logical operators give operands',
    fn: '(a, b) => [a && b, a || b, a ?? b, !(a && b)]',
    calls: ['0, 1', 'null, 2', '"", undefined', 'NaN, []'],
  },
  {
    name: 'logical operators are lazy',
    fn: '(a) => [a && t("and"), a || t("or"), a ?? t("nullish")]',
    env: 'const t = (x) => { log.push(x); return x; }',
    calls: ['0', '1', 'null', 'undefined'],
  },
  {
    name: 'logical assignment',
    fn: '(a, b, c) => { a ||= 1; b &&= 2; c ??= 3; return [a, b, c]; }',
    calls: ['0, 0, 0', '5, 5, 5', 'null, null, null'],
  },
  {
    name: 'logical assignment of members',
    fn: '(o) => { o.a ||= t(1); o.b &&= t(2); o[k("c")] ??= t(3); return o; }',
    env: 'const t = (x) => { log.push(x); return x; }; const k = (x) => { log.push("key"); return x; }',
    calls: ['{ a: 0, b: 0 }', '{ a: 1, b: 1, c: 1 }'],
  },
  {
    name: 'self-referring logical value',
    fn: '(a, b) => { a = b || a; b = a ? b : a; return [a, b]; }',
    calls: ['1, 0', '0, 0', '2, 3'],
  },
  {
    name: 'conditional',
    fn: '(x) => x > 0 ? "pos" : x < 0 ? "neg" : "zero"',
    calls: ['1', '-1', '0'],
  },
  {
    name: 'conditions with not, and, or',
    fn: '(a, b, c) => { if (!(a && !b) || (c && (a || b))) return 1; return 2; }',
    calls: ['0,0,0', '1,0,0', '1,0,1', '0,1,1', '1,1,0'],
  },
  {
    name: 'comma',
    fn: '(x) => { const y = (log.push("a"), x++, x * 2); return [x, y]; }',
    calls: ['1'],
  },
  {
    name: 'in and instanceof',
    fn: '(k, o) => [k in o, o instanceof Array, o instanceof Object]',
    calls: ['"length", []', '"x", {}', '"x", 5'],
  },
  { name: 'instanceof of something else', fn: '(o) => o instanceof o', calls: ['{}', '5'] },
  {
    name: 'delete',
    fn: '(o) => [delete o.a, delete o["b"], delete o[1 + 1], delete 5, o]',
    calls: ['{ a: 1, b: 2, 2: 3 }', 'Object.freeze({ a: 1 })', 'null'],
  },
  {
    name: 'delete in sloppy code',
    fn: 'function (o) { return [delete o.a, o]; }',
    calls: ['Object.freeze({ a: 1 })'],
    sloppy: true,
  },
  {
    name: 'failing writes in strict code',
    fn: '(o) => { o.a = 1; }',
    calls: ['Object.freeze({})', '"text"', '5', 'null'],
  },
  {
    name: 'failing writes in sloppy code',
    fn: 'function (o) { o.a = 1; o[0] = 2; return o; }',
    calls: ['Object.freeze({})', '"text"', '5', 'null'],
    sloppy: true,
  },
  {
    name: 'template strings',
    fn: '(a, b) => `${a}-${b}` + `x${a + b}y` + `` + `${a}`',
    calls: ['1, 2', '"s", null', '{ toString() { return "T"; } }, []', 'Symbol("s"), 1'],
  },
  {
    name: 'template strings convert each value in turn',
    fn: '() => `${s("a")}${s("b")}${s("c")}`',
    env: 'const s = (n) => { log.push(n); return { toString() { log.push(`${n}.toString`); return n; } }; }',
  },
  { name: 'template escapes', fn: '(a) => `\\n\\u0041\\`${a}\\${}`', calls: ['1'] },
  {
    name: 'literals',
    fn: '() => [1.5, "s", true, null, undefined, 10n, 0x10, 1e300, 1e400, -1e400, NaN, "\\u2028"]',
  },
  {
    name: 'regular expressions are new each time',
    fn: '() => { const all = []; for (let i = 0; i < 2; i++) all.push(/a(b)/gi); return [all, all[0] === all[1], "xAB".replace(all[0], "$1")]; }',
  },
  {
    name: 'valueOf order',
    fn: '(a, b) => a + b',
    env: 'const v = (n) => ({ valueOf() { log.push(n); return n; } });',
    calls: ['v(1), v(2)'],
  },
  {
    name: 'string and number mixes',
    fn: '(a) => [a + 1, 1 + a, a - 1, a * "2"]',
    calls: ['"3"', 'true', '[]', '[4]'],
  },
];
