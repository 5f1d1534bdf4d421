// biome-ignore-all lint/suspicious/noTemplateCurlyInString: examples are source text
import type { Example } from '../world.ts';

const env = `
  const t = (x) => { log.push(x); return x; };
  const boom = (x = 'boom') => { throw new Error(x); };
  const spy = (items, extra = {}) => ({
    [Symbol.iterator]() {
      let i = 0;
      return {
        next() { log.push('next'); return i < items.length ? { value: items[i++], done: false } : { value: undefined, done: true }; },
        return() { log.push('return'); return {}; },
        ...extra,
      };
    },
  });`;

const examples: readonly Omit<Example, 'env'>[] = [
  {
    name: 'catch',
    fn: '(x) => { let r = 1; try { r = 2; if (x) boom(x); r = 3; } catch (e) { return [e.message, r]; } return r; }',
    calls: ['0', '"a"'],
  },
  { name: 'catch without binding', fn: '() => { try { boom(); } catch { return "caught"; } }' },
  {
    name: 'what is thrown is what is caught',
    fn: '(x) => { try { throw x; } catch (e) { return [e]; } }',
    calls: ['1', 'undefined', '{ a: 1 }'],
  },
  {
    name: 'destructured catch parameter',
    fn: '(x) => { try { throw x; } catch ({ a, b: [c, d = a] = [], ...rest }) { return [a, c, d, rest]; } }',
    calls: ['{ a: 1, b: [2], z: 3 }', '{ a: 1 }', '{ b: 1 }', 'null', 'undefined'],
  },
  {
    name: 'array catch parameter',
    fn: '(x) => { try { throw x; } catch ([a, b]) { return [a, b]; } }',
    calls: ['"xy"', '1', 'null'],
  },
  {
    name: 'empty pattern as catch parameter',
    fn: '(x) => { try { throw x; } catch ({}) { return 1; } }',
    calls: ['1', 'null'],
  },
  {
    name: 'catch parameter in its own default',
    fn: '() => { try { throw {}; } catch ({ a = b, b = 1 }) { return a; } }',
  },
  {
    name: 'catch parameter shadows',
    fn: '(e) => { try { boom(e); } catch (e) { e = 5; t(e); } return e; }',
    calls: ['"x"'],
  },
  {
    name: 'var in catch',
    fn: '() => { try { throw 1; } catch (e) { var e = 2; t(e); } return e; }',
  },
  {
    name: 'captured catch parameter',
    fn: '() => { const fs = []; for (let i = 0; i < 3; i++) { try { throw i; } catch (e) { fs.push(() => e++); } } fs[0](); return fs.map((f) => f()); }',
  },
  {
    name: 'captured pattern in catch',
    fn: '() => { try { throw { a: 1 }; } catch ({ a }) { const f = () => a++; f(); return [a, f()]; } }',
  },
  { name: 'rethrow', fn: '() => { try { boom("one"); } catch (e) { t(e.message); throw e; } }' },
  {
    name: 'throw in catch',
    fn: '() => { try { try { boom("one"); } catch (e) { boom(e.message + "two"); } } catch (e) { return e.message; } }',
  },
  {
    name: 'native errors',
    fn: '(o) => { const seen = []; try { o.x.y; } catch (e) { seen.push(e.message); } try { o.f(); } catch (e) { seen.push(e.message); } try { for (const x of o); } catch (e) { seen.push(e.message); } try { new o.C(); } catch (e) { seen.push(e.message); } try { missing; } catch (e) { seen.push(e.name); } return seen; }',
    calls: ['{}'],
  },
  { name: 'TDZ', fn: '() => { try { use; let use = 1; } catch (e) { return e.message; } }' },
  {
    name: 'TDZ of a captured variable keeps the target',
    fn: '() => { let x = 1; const g = () => late; try { x = late; } catch (e) { return [x, e.message]; } let late = 2; return g; }',
  },
  {
    name: 'nested catches',
    fn: '(a, b) => { try { t(1); try { if (a) boom("a"); t(2); } catch (e) { t(e.message); if (b) boom("b"); } t(3); } catch (e) { t(e.message); } t(4); }',
    calls: ['0, 0', '1, 0', '1, 1'],
  },
  {
    name: 'finally after the end',
    fn: '(x) => { let r = 0; try { r = t(x); } finally { t("f"); r++; } return r; }',
    calls: ['1'],
  },
  { name: 'finally after a throw', fn: '() => { try { boom("x"); } finally { t("f"); } }' },
  {
    name: 'finally after return',
    fn: '(x) => { try { return t(x); } finally { t("f"); } }',
    calls: ['1'],
  },
  {
    name: 'return takes its value before finally',
    fn: '(x) => { try { return x; } finally { x = 2; t(x); } }',
    calls: ['1'],
  },
  {
    name: 'return of an object that finally changes',
    fn: '(o) => { try { return o; } finally { o.n = 2; } }',
    calls: ['{ n: 1 }'],
  },
  {
    name: 'finally overrides return',
    fn: '() => { try { return t(1); } finally { return t(2); } }',
  },
  { name: 'finally overrides throw', fn: '() => { try { boom(); } finally { return 2; } }' },
  {
    name: 'finally overrides return with throw',
    fn: '() => { try { return 1; } finally { boom("f"); } }',
  },
  {
    name: 'finally overrides with break',
    fn: '() => { for (let i = 0; ; i++) { try { if (i > 2) return "no"; boom(); } finally { if (i < 3) continue; break; } } return "yes"; }',
  },
  {
    name: 'finally leaves a labelled block',
    fn: '(x) => { a: { try { if (x) return 1; boom(); } finally { break a; } } return 2; }',
    calls: ['0', '1'],
  },
  {
    name: 'catch and finally',
    fn: '(x) => { try { t(1); if (x) boom("b"); return t("r"); } catch (e) { t(e.message); return "c"; } finally { t("f"); } }',
    calls: ['0', '1'],
  },
  {
    name: 'throw in catch runs finally',
    fn: '() => { try { boom("a"); } catch (e) { boom(e.message + "b"); } finally { t("f"); } }',
  },
  {
    name: 'throw in finally',
    fn: '() => { try { try { boom("a"); } finally { boom("f"); } } catch (e) { return e.message; } }',
  },
  {
    name: 'break and continue through finally',
    fn: '(n) => { let s = ""; for (let i = 0; i < n; i++) { try { if (i === 1) continue; if (i === 3) break; s += i; } finally { s += "f"; } s += ";"; } return s; }',
    calls: ['0', '3', '9'],
  },
  {
    name: 'labelled jumps through several finally blocks',
    fn: '(n) => { let s = ""; outer: for (let i = 0; i < n; i++) { try { for (let j = 0; j < n; j++) { try { if (j === 1) continue outer; if (i === 2) break outer; if (i === 3) return s; s += `${i}${j} `; } finally { s += "a"; } } } finally { s += "b"; } } return s; }',
    calls: ['1', '2', '5'],
  },
  {
    name: 'return through nested finally blocks',
    fn: '() => { try { try { try { return t("value"); } finally { t(1); } } finally { t(2); } } finally { t(3); } }',
  },
  {
    name: 'nested finally in finally',
    fn: '(x) => { try { if (x) boom("a"); return 1; } finally { try { boom("b"); } catch (e) { t(e.message); } finally { t("f"); } t("g"); } }',
    calls: ['0', '1'],
  },
  {
    name: 'return in catch in finally in loop',
    fn: '() => { for (const x of [1, 2, 3]) { try { if (x === 2) boom(); } catch { return x; } finally { t(x); } } }',
  },
  {
    name: 'nothing that throws',
    fn: '() => { try { } catch { return 1; } finally { } try { } finally { return 2; } }',
  },
  {
    name: 'endless try',
    fn: '(n) => { let r = 0; try { for (;;) { if (r++ > n) break; } } catch { r = -1; } try { do { if (r++ > 9) return r; } while (true); } finally { r = 0; } }',
    calls: ['3'],
  },
  { name: 'try that always throws', fn: '() => { try { throw 1; } finally { t("f"); } }' },
  { name: 'try that always returns', fn: '() => { try { return 1; } finally { } }' },
  { name: 'empty try with catch', fn: '() => { try { } catch (e) { return e; } return 2; }' },
  {
    name: 'switch in try',
    fn: '(x) => { let r = []; try { switch (x) { case 1: r.push(1); case 2: r.push(2); break; default: boom(); } r.push(3); } catch { r.push("c"); } finally { r.push("f"); } return r; }',
    calls: ['1', '2', '3'],
  },
  {
    name: 'try in switch',
    fn: '(x) => { switch (x) { case 1: try { t(1); break; } finally { t("f"); } case 2: t(2); } t(3); }',
    calls: ['1', '2'],
  },
  {
    name: 'iterators inside a try are closed before the handler',
    fn: '() => { try { for (const x of spy([1, 2])) { for (const y of spy([3])) boom("b"); } } catch (e) { t(e.message); } t("end"); }',
  },
  {
    name: 'iterators around a try stay open',
    fn: '() => { for (const x of spy([1, 2, 3])) { try { t(x); if (x < 3) boom(); } catch { t("c"); } finally { t("f"); } } }',
  },
  {
    name: 'break out of a try in a loop closes outside of it',
    fn: '() => { for (const x of spy([1], { return() { throw new Error("close"); } })) { try { break; } catch { t("not here"); } } }',
  },
  {
    name: 'return out of a try in a loop closes outside of it',
    fn: '() => { try { for (const x of spy([1], { return() { throw new Error("close"); } })) { try { return 1; } catch { t("not here"); } finally { t("f"); } } } catch (e) { return e.message; } }',
  },
  {
    name: 'return closes iterators inside the try',
    fn: '() => { try { for (const x of spy([1], { return() { throw new Error("close"); } })) return 1; } catch (e) { return e.message; } finally { t("f"); } }',
  },
  {
    name: 'throws while closing give way',
    fn: '() => { try { for (const x of spy([1], { return() { throw new Error("close"); } })) boom("body"); } catch (e) { return e.message; } }',
  },
  {
    name: 'destructuring in a try',
    fn: '() => { let a = 1, b = 2; try { [a, b] = spy([5, 6], { next() { throw new Error("next"); } }); } catch (e) { t(e.message); } return [a, b]; }',
  },
  {
    name: 'rest in a try',
    fn: '(o) => { let a = 1, r = 2; try { [a, ...r] = spy([5, 6]); ({ a, ...r } = o); } catch (e) { t(e.name); } return [a, r]; }',
    calls: ['{ a: 1, b: 2 }', 'null'],
  },
  {
    name: 'failed defaults keep the variable',
    fn: '() => { let a = 1, b = 2; try { ({ a = boom("a") } = {}); } catch { } try { [b = boom("b")] = []; } catch { } return [a, b]; }',
  },
  {
    name: 'failed expressions keep the variable',
    fn: '(s) => { let a = 1; try { a = [1, ...boom()]; } catch { t(a); } try { a = { x: boom() }; } catch { t(a); } try { a = 0 || boom(); } catch { t(a); } try { a = s ? boom() : 1; } catch { t(a); } try { a = `${1}${boom()}`; } catch { t(a); } try { a += boom(); } catch { t(a); } try { a = a++ + boom(); } catch { t(a); } try { a ??= 1; a &&= boom(); } catch { t(a); } try { a = (t(2), boom()); } catch { t(a); } try { a = s?.x.y; } catch { t(a); } return a; }',
    calls: ['1'],
  },
  {
    name: 'failed updates keep the variable',
    fn: '(s) => { let a = s, b = 1; const o = { s }; try { a++; } catch { } try { b = ++o.s; } catch { } try { b = o.s++; } catch { } try { b = -s; } catch { } return [a === s, b]; }',
    calls: ['Symbol("s")', '1'],
  },
  {
    name: 'variables in the declaration of var',
    fn: '() => { var a = 1; try { var a = [2, ...boom()]; } catch { } try { var [a] = spy([3], { next() { throw 1; } }); } catch { } return a; }',
  },
  {
    name: 'for of that fails keeps the variable',
    fn: '() => { let x = 0; try { for (x of spy([1], { next() { throw 1; } })); } catch { } return x; }',
  },
  {
    name: 'errors out of callbacks',
    fn: '(xs) => { try { xs.forEach((x) => { if (x > 1) boom(`at ${x}`); t(x); }); } catch (e) { return e.message; } }',
    calls: ['[1, 2, 3]'],
  },
  {
    name: 'errors out of inner functions',
    fn: '(n) => { const f = (k) => { try { if (k === 0) boom("deep"); return f(k - 1); } finally { t(k); } }; try { return f(n); } catch (e) { return e.message; } }',
    calls: ['3'],
  },
  {
    name: 'inner functions catch',
    fn: '() => [1, 2].map((x) => { try { if (x === 1) boom(x); return "ok"; } catch (e) { return e.message; } })',
  },
  {
    name: 'try in a function of try',
    fn: '() => { const f = () => { try { return 1; } finally { t("f"); } }; try { return f() + f(); } finally { t("g"); } }',
  },
  {
    name: 'while with try and labelled continue',
    fn: '(n) => { let i = 0; go: while (i < n) { i++; try { do { if (i === 2) continue go; t(i); } while (false); } finally { t("f"); } } return i; }',
    calls: ['3'],
  },
  {
    name: 'retries',
    fn: '(f) => { for (let attempt = 1; ; attempt++) { try { return [f(attempt), attempt]; } catch (e) { if (attempt > 4) throw e; } } }',
    calls: ['(n) => { if (n < 3) throw n; return "done"; }', '() => { throw new Error("never"); }'],
  },
  {
    name: 'optional catch in sloppy code',
    fn: 'function (o) { try { o.frozen = 1; null.x; } catch { return o.frozen; } }',
    calls: ['Object.freeze({})'],
    sloppy: true,
  },
  {
    name: 'shadowed name in block of try',
    fn: '(x) => { try { let x = 5; boom(x); } catch { return x; } finally { let x = 6; t(x); } }',
    calls: ['1'],
  },
  {
    name: 'closure over a variable of the try block',
    fn: '() => { let f; try { let x = 1; f = () => x++; x = 5; boom(); } catch { f(); return f(); } }',
  },
];

export const exceptions: readonly Example[] = examples.map((example) => ({ ...example, env }));
