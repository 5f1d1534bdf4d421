// biome-ignore-all lint/suspicious/noTemplateCurlyInString: examples are source text
import type { Example } from '../world.ts';

const iterator = `
  const spy = (items, extra = {}) => ({
    [Symbol.iterator]() {
      log.push('open');
      let i = 0;
      return {
        next() { log.push('next'); return i < items.length ? { value: items[i++], done: false } : { value: 'end', done: true }; },
        return(v) { log.push('return'); return {}; },
        ...extra,
      };
    },
  });`;

export const controlFlow: readonly Example[] = [
  {
    name: 'if without else',
    fn: '(x) => { let r = 0; if (x) r = 1; return r; }',
    calls: ['1', '0'],
  },
  {
    name: 'else if',
    fn: '(x) => { if (x === 1) return "a"; else if (x === 2) return "b"; else { return "c"; } }',
    calls: ['1', '2', '3'],
  },
  { name: 'no return', fn: '(x) => { if (x) { x++; } }', calls: ['1'] },
  { name: 'dead code after return', fn: '(x) => { return x; x = 5; for (;;) {} }', calls: ['1'] },
  {
    name: 'while',
    fn: '(n) => { let s = 0; while (n > 0) { s += n; n--; } return s; }',
    calls: ['5', '0'],
  },
  {
    name: 'do while',
    fn: '(n) => { let s = 0; do { s += n; if (s > 8) continue; log.push(s); } while (n-- > 0); return [s, n]; }',
    calls: ['5', '0'],
  },
  {
    name: 'do while that never repeats',
    fn: '(n) => { do { if (n) break; n = 7; } while (false); return n; }',
    calls: ['0', '3'],
  },
  {
    name: 'for',
    fn: '(n) => { let s = 0; for (let i = 0, j = n; i < j; i++, j--) s += i * j; return s; }',
    calls: ['7'],
  },
  {
    name: 'for without parts',
    fn: '(n) => { for (;;) { if (n-- < 0) break; if (n % 2) continue; log.push(n); } return n; }',
    calls: ['4'],
  },
  {
    name: 'for with var',
    fn: '(n) => { for (var i = 0; i < n; i++) { var last = i; } return [i, last]; }',
    calls: ['3', '0'],
  },
  {
    name: 'labels',
    fn: '(n) => { let s = ""; outer: for (let i = 0; i < n; i++) { for (let j = 0; j < n; j++) { if (j === 2) continue outer; if (i === 3) break outer; s += `${i}${j} `; } } return s; }',
    calls: ['5'],
  },
  {
    name: 'labelled block',
    fn: '(x) => { let r = []; a: { r.push(1); b: { if (x) break a; r.push(2); } r.push(3); } return r; }',
    calls: ['0', '1'],
  },
  {
    name: 'break passes a labelled block',
    fn: '(n) => { for (let i = 0; i < n; i++) { a: { if (i === 2) break; if (i === 1) break a; log.push(i); } log.push("after"); } }',
    calls: ['4'],
  },
  {
    name: 'for of an array',
    fn: '(xs) => { let s = 0; for (const x of xs) { if (x === 2) continue; if (x > 3) break; s += x; } return s; }',
    calls: ['[1, 2, 3, 4, 5]', '[]', 'new Set([1, 3])', '"12"'],
  },
  {
    name: 'for of asks and closes',
    fn: '(n) => { for (const x of spy([1, 2, 3])) { log.push(x); if (x === n) break; } }',
    env: iterator,
    calls: ['2', '9'],
  },
  {
    name: 'return closes iterators, the innermost first',
    fn: '() => { for (const a of spy([1, 2])) for (const b of spy([3])) { return (log.push("value"), a + b); } }',
    env: iterator,
  },
  {
    name: 'continue outer closes the inner iterator',
    fn: '() => { outer: for (const a of spy([1, 2])) { for (const b of spy([3, 4])) { log.push(a + b); continue outer; } } }',
    env: iterator,
  },
  {
    name: 'break outer closes both',
    fn: '() => { outer: for (const a of spy([1, 2])) { for (const b of spy([3, 4])) break outer; } }',
    env: iterator,
  },
  {
    name: 'throw closes iterators and keeps its error',
    fn: '() => { for (const a of spy([1])) for (const b of spy([2], { return() { log.push("return 2"); throw new Error("other"); } })) throw new Error("first"); }',
    env: iterator,
  },
  {
    name: 'throw of a callee closes the iterator',
    fn: '(f) => { for (const a of spy([1, 2])) { f(a); } }',
    env: iterator,
    calls: ['() => { throw new RangeError("no"); }'],
  },
  {
    name: 'an unconditional throw in the loop closes the iterator',
    fn: '() => { for (const a of spy([1, 2])) { log.push(a); throw a; } }',
    env: iterator,
  },
  {
    name: 'a failing next is not closed',
    fn: '() => { for (const a of spy([1], { next() { throw new Error("next"); } })) log.push(a); }',
    env: iterator,
  },
  {
    name: 'a next that gives no object',
    fn: '() => { for (const a of spy([1], { next() { return 5; } })) log.push(a); }',
    env: iterator,
  },
  {
    name: 'a return that gives no object',
    fn: '() => { for (const a of spy([1], { return() { return 5; } })) break; }',
    env: iterator,
  },
  {
    name: 'an iterator without return',
    fn: '() => { for (const a of spy([1], { return: undefined })) return a; }',
    env: iterator,
  },
  {
    name: 'for of with a pattern',
    fn: '(m) => { const out = []; for (const [k, { v = 0, ...rest }] of m) out.push(k, v, rest); return out; }',
    calls: ['new Map([["a", { v: 1, w: 2 }], ["b", {}]])'],
  },
  {
    name: 'for of assigns to targets',
    fn: '(o) => { let x; for (x of [1, 2]); for (o.p of [3, 4]); for ([o.q, x] of [[5, 6]]); return [o, x]; }',
    calls: ['{}'],
  },
  {
    name: 'for of closes when its pattern throws',
    fn: '() => { for (const { a: { b } } of spy([{}])) log.push(b); }',
    env: iterator,
  },
  { name: 'for of over its own name', fn: '() => { for (const x of [x]) log.push(x); }' },
  {
    name: 'for of with a generator',
    fn: '(g) => { for (const x of g()) { if (x > 1) return x; log.push(x); } }',
    env: 'const gen = function* () { try { yield 1; yield 2; yield 3; } finally { log.push("finally"); } }',
    calls: ['gen'],
  },
  {
    name: 'not iterable',
    fn: '(x) => { for (const a of x) log.push(a); }',
    calls: ['undefined', 'null', '5', '{}'],
  },
  {
    name: 'result of a call is not iterable',
    fn: '(x) => { for (const a of x.get(1)) log.push(a); }',
    calls: ['{ get() {} }'],
  },
  {
    name: 'what is called for its elements is not a function',
    fn: '(x) => { switch (x.way) { case 0: for (const a of x.get(1)) log.push(a); case 1: return [...x.get(1)]; case 2: { const [a] = x.get(1); return a; } default: return Math.max(...x.get(1)); } }',
    calls: ['{ way: 0 }', '{ way: 1 }', '{ way: 2 }', '{ way: 3 }'],
  },
  {
    name: 'member is not iterable',
    fn: '(x) => { for (const a of x.items) log.push(a); }',
    calls: ['{}'],
  },
  {
    name: 'switch',
    fn: '(x) => { const r = []; switch (x) { case 1: r.push("one"); case 2: r.push("two"); break; case "3": { r.push("three"); break; } default: r.push("default"); case 4: r.push("four"); } return r; }',
    calls: ['1', '2', '"3"', '4', '5'],
  },
  {
    name: 'switch without default',
    fn: '(x) => { switch (x) { case 1: return "one"; } return "none"; }',
    calls: ['1', '2'],
  },
  {
    name: 'empty switch',
    fn: '(x) => { switch (f(x)) {} return x; }',
    env: 'const f = (x) => log.push(x)',
    calls: ['1'],
  },
  {
    name: 'switch evaluates tests in order',
    fn: '(x) => { switch (x) { default: return "d"; case t(1): return "a"; case t(2): return "b"; case t(3): return "c"; } }',
    env: 'const t = (x) => { log.push(x); return x; }',
    calls: ['2', '7'],
  },
  {
    name: 'switch value does not change',
    fn: '(x) => { switch (x) { case (x = 2): return "two"; case 1: return "one"; } return x; }',
    calls: ['1', '2'],
  },
  {
    name: 'switch scope and TDZ',
    fn: '(x) => { switch (x) { case 0: let a = 1; case 1: a = 2; return a; case 2: return a; } }',
    calls: ['0', '1', '2'],
  },
  {
    name: 'continue inside switch',
    fn: '() => { for (let i = 0; i < 4; i++) { switch (i) { case 1: continue; case 2: break; default: log.push(i); } log.push("end"); } }',
  },
  {
    name: 'throw',
    fn: '(x) => { if (x) throw x; return 1; }',
    calls: ['0', '"text"', 'new TypeError("t")'],
  },
  {
    name: 'block scopes',
    fn: '(x) => { { let x = 1; { let x = 2; log.push(x); } log.push(x); } const y = x; { const x = y + 1; log.push(x); } return x; }',
    calls: ['9'],
  },
  {
    name: 'let without value in a loop',
    fn: '() => { for (let i = 0; i < 3; i++) { let v; log.push(v); v = i; } }',
  },
  {
    name: 'var keeps its value in a loop',
    fn: '() => { for (let i = 0; i < 3; i++) { var v; log.push(v); v = i; } return v; }',
  },
  {
    name: 'var before its declaration',
    fn: '(x) => { const before = y; var y = 1; if (x) { var z = 2; } return [before, y, z]; }',
    calls: ['0', '1'],
  },
  {
    name: 'var of the same name as a parameter',
    fn: '(x) => { var x; const a = x; var x = 2; return [a, x]; }',
    calls: ['1'],
  },
  {
    name: 'let before its initialisation',
    fn: '(x) => { if (x) log.push(y); let y = 1; return y; }',
    calls: ['0', '1'],
  },
  { name: 'const used in its own value', fn: '() => { const a = a + 1; return a; }' },
  { name: 'assignment before initialisation', fn: '() => { y = 1; let y; return y; }' },
  {
    name: 'TDZ in the second round of a loop',
    fn: '(n) => { for (let i = 0; i < n; i++) { if (i === 1) log.push(v); let v = i; log.push(v); } }',
    calls: ['1', '2'],
  },
  {
    name: 'functions are hoisted',
    fn: '(x) => { return twice(x); function twice(v) { return half(v) * 4; } function half(v) { return v / 2; } }',
    calls: ['3'],
  },
  {
    name: 'functions in blocks',
    fn: '(x) => { if (x) { log.push(f()); function f() { return "in"; } } return typeof f; }',
    calls: ['1'],
  },
  {
    name: 'a function declared twice',
    fn: '() => { function f() { return 1; } const a = f(); function f() { return 2; } var f; return [a, f()]; }',
  },
  {
    name: 'fibonacci',
    fn: '(n) => { let [a, b] = [0, 1]; while (n-- > 0) [a, b] = [b, a + b]; return a; }',
    calls: ['10'],
  },
  {
    name: 'sieve',
    fn: '(n) => { const out = [], no = new Set(); for (let i = 2; i < n; i++) { if (no.has(i)) continue; out.push(i); for (let j = i * i; j < n; j += i) no.add(j); } return out; }',
    calls: ['20'],
  },
];
