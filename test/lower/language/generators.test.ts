import { sameAsNative } from './differential.ts';

sameAsNative('generators', {
  'values in both directions': `
    function* g(a, b = log('default', a)) { log('begin'); const x = yield a; log('got', x); const y = yield [x, b]; return x + y; }
    const it = g(1); log('made'); return [it.next('ignored'), it.next(2), it.next(3), it.next(4)];`,
  'parameters are taken by the call': `
    function* g({ a }, [b] = spy('b', [1])) { yield a + b; }
    try { g(null); } catch (e) { log(e.name); } return [...g({ a: 1 })];`,
  'what a generator function is': `
    function* g(a, b) {} const it = g(); const G = Object.getPrototypeOf(g);
    try { new g(); } catch (e) { log(e.name); }
    return [g.length, g.name, 'prototype' in g, it instanceof g, Object.prototype.toString.call(it), String(G), it[Symbol.iterator]() === it, typeof it.next];`,
  'return and throw at every place': `
    function* g() { try { yield 1; } catch (e) { log('caught', e); yield 2; } finally { log('finally'); yield 3; } yield 4; }
    const ways = [(it) => it.return('r'), (it) => it.throw('t'), (it) => it.next('n')];
    for (let steps = 0; steps < 5; steps++) for (const way of ways) {
      const it = g(); for (let i = 0; i < steps; i++) it.next();
      for (let i = 0; i < 4; i++) try { log(steps, way.length, way(it)); } catch (e) { log('thrown', e); }
    }`,
  'finally changes the completion': `
    function* a() { try { yield 1; } finally { return 2; } } function* b() { for (;;) { try { yield 1; } finally { break; } } return 'after'; }
    function* c() { try { yield 1; } finally { throw new Error('c'); } }
    for (const g of [a, b, c]) { const it = g(); it.next(); try { log(it.return('r')); } catch (e) { log(e); } log(it.next()); }`,
  'return while returning': `
    function* g() { try { yield 1; } finally { try { yield 2; } finally { yield 3; } } }
    const it = g(); return [it.next(), it.return('a'), it.return('b'), it.next(), it.next()];`,
  'yield and yield* in a finally that return has entered': `
    const inner = (more) => ({ [Symbol.iterator]() { return watch('it', { i: 0, next(v) { return watch('n', { value: v, done: this.i++ > 2 }); }, return(v) { return watch('r', { value: v, done: true }); }, throw(v) { return watch('t', { value: v, done: this.i++ > 3 }); }, ...more }); } });
    const kinds = [{}, { throw: undefined }, { return: undefined }, { throw: undefined, return: null }, { return: () => 1, throw: () => 2 }, { return() { throw 'R'; }, throw() { throw 'T'; } }];
    const ways = ['next', 'throw', 'return'], show = (f) => { try { const r = f(); log(r.value, r.done); } catch (e) { log(e && e.name || e); } };
    for (const kind of kinds) for (const way of ways) for (const again of ways) {
      function* g() { try { yield 1; } finally { try { log('result', yield* inner(kind)); } finally { yield 2; } log('end'); } }
      const it = g(); it.next(); for (const [w, v] of [['return', 'a'], [way, 'b'], [again, 'c'], ['next', 'd'], ['next', 'e']]) show(() => it[w](v));
    }`,
  'a regular expression is yielded by methods': `
    class A { *m() { yield /x(y)?/g.test('axy'); } static *#s() { yield /a/; } static run() { return [...A.#s()].map(String); } async *n() { yield /z/; } *[1]() { yield
      /q/.source; } }
    return [...new A().m(), ...A.run(), ...{ *o() { yield /o/.flags + (yield / 2 /.source); } }.o(), ...new A()[1]()];`,
  'several returns, of which the last that is not dropped counts': `
    function* a() { try { yield 1; } finally { for (;;) { try { yield 2; } finally { break; } } yield 3; } } function* b() { try { yield 1; } finally { try { yield 2; } catch { log('c'); } yield* [3, 4]; } }
    function* c() { try { yield 1; } finally { try { yield 2; } finally { return 9; } } } function* d() { try { try { yield 1; } finally { yield 2; } } finally { try { yield 3; } finally { log('x'); } } }
    function* e() { l: try { yield 1; } finally { try { yield* [2, 3]; } finally { break l; } } return 'after'; }
    for (const g of [a, b, c, d, e]) for (const ways of ['nn', 'rn', 'rr', 'tn', 'nr', 'rt']) { const it = g(); it.next(); for (const w of 'r' + ways + 'nn') try { log(it[{ n: 'next', r: 'return', t: 'throw' }[w]](w)); } catch (x) { log('thrown', x); } }`,
  'running twice':
    'let it; function* g() { try { it.next(); } catch (e) { log(e); } yield 1; } it = g(); return it.next();',
  'yield* hands everything on': `
    const inner = { [Symbol.iterator]() { return watch('it', { i: 0, next(v) { return watch('n', { value: v, done: this.i++ > 2 }); }, return(v) { return watch('r', { value: v, done: true }); }, throw(v) { return watch('t', { value: v, done: this.i++ > 3 }); } }); } };
    function* g() { try { log('result', yield* inner); } finally { log('finally'); } return 'end'; }
    for (const way of ['next', 'throw', 'return']) { const it = g(); it.next('a'); it.next('b'); const r = it[way]('c'); log(r.done, r.value); const n = it.next('d'); log(n.done); }`,
  'yield* without throw or return': `
    function* g() { try { yield* spy('s', [1, 2]); } catch (e) { log(e.name); yield 'c'; } }
    let it = g(); it.next(); log(it.throw('x')); it = g(); it.next(); log(it.return('y'), it.next());
    function* h() { yield* { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }; } it = h(); it.next(); return it.return(5);`,
  'yield* of what is not iterable':
    'function* g(x) { yield* x; } for (const x of [1, null, {}]) try { g(x).next(); } catch (e) { log(e); }',
  'yield in every place of an expression': `
    function* g() { const o = { [yield 'key']: yield 'value', ...(yield 'spread') }; const [a = yield 'default'] = [yield 'element']; log(o, a); return (yield 'l') + (yield 'r') + \`\${yield 't'}\` + log(yield 'x', yield 'y'); }
    const it = g(); let r, i = 0; while (!(r = it.next({ i: i++ }.i)).done) log(r.value); return r;`,
  'iterators are closed by a return': `
    function* g() { for (const a of spy('outer', [1, 2])) { const [b, c = yield a] = spy('pattern', [5, undefined, 6]); log(b, c); } }
    const it = g(); it.next(); log(it.return('r')); function* h() { for (const a of spy('s', [1])) yield a; } const i = h(); i.next(); try { i.throw('t'); } catch (e) { log(e); }`,
  'loops, closures and labels': `
    function* g() { const fs = []; outer: for (let i = 0; i < 3; i++) { for (const j of [0, 1, 2]) { if (j === 1) continue outer; fs.push(() => yielded + i + j); const yielded = yield i; } } return fs.map((f) => f()); }
    const it = g(); let r = it.next(); while (!r.done) r = it.next('v'); return r;`,
  'methods, this and arguments': `
    const o = { x: 1, *m() { yield this.x; yield arguments.length; yield* [...arguments]; }, *[Symbol.iterator]() { yield* this.m('a', 'b'); } };
    class A { static *s() { yield this.name; } *#p() { yield super.toString === Object.prototype.toString; } q() { return [...this.#p()]; } }
    return [[...o], [...A.s()], new A().q()];`,
  'a generator in destructuring and spread':
    'function* n() { let i = 0; try { for (;;) yield i++; } finally { log("closed"); } } const [a, b] = n(); return Math.max(a, b, ...[...(function* () { yield 7; })()]);',
});

sameAsNative(
  'async functions',
  {
    'are of the kind that the engine makes': `
      const fs = [async () => {}, async function f() {}, { async m() {} }.m, class { static async s() {} }.s, async function* g() {}, function* h() {}, { k() {} }.k];
      log(fs); for (const f of fs) log(Object.prototype.toString.call(f), 'prototype' in f, Object.getPrototypeOf(f) === Object.getPrototypeOf(async () => {})); try { new fs[0](); } catch (e) { log(e.name); }`,
    'turns of awaits': `
      const ticks = (async () => { for (let i = 0; i < 8; i++) { log('tick', i); await null; } })();
      const f = async (x) => { log('f', await x); try { await Promise.reject(new Error('no')); } catch (e) { log(e); } finally { log(await 'finally'); } return { then(r) { log('then'); r('thenable'); } }; };
      const r = await f(Promise.resolve(1)); await ticks; return r;`,
    'throws in parameters reject':
      'const f = async (x = (() => { throw new Error("p"); })()) => x; const p = f(); log(typeof p); try { await p; } catch (e) { log(e); }',
    'for await over anything': `
      const asynchronous = { [Symbol.asyncIterator]() { let i = 0; return { next: async () => (log('next'), { done: i >= 2, value: i++ }), return: async (v) => (log('return', v), {}) }; } };
      for await (const x of asynchronous) log(x); for await (const x of asynchronous) { log(x); break; }
      for await (const x of [1, Promise.resolve(2)]) log(x); for await (const x of spy('s', [1, Promise.resolve(2), 3])) { log(x); if (x === 2) break; }
      try { for await (const x of asynchronous) throw new Error('body'); } catch (e) { log(e); }
      outer: for (const a of [1, 2]) for await (const x of asynchronous) { log(a, x); continue outer; }
      return await (async () => { for await (const x of asynchronous) return x; })();`,
    'for await with a return that fails': `
      const it = (answer) => ({ [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: 1 }), return: answer }) });
      for (const answer of [() => 1, () => { throw new Error('r'); }, async () => { throw new Error('p'); }, undefined, null]) {
        try { for await (const x of it(answer)) break; log('left'); } catch (e) { log('break', e.name); }
        try { for await (const x of it(answer)) throw new Error('body'); } catch (e) { log('throw', e); }
      }
      for (const x of [1, null, {}]) try { for await (const y of x); } catch (e) { log(e); }`,
    'turns of for await': `
      const ticks = (async () => { for (let i = 0; i < 14; i++) { log('tick', i); await null; } })();
      for await (const x of [1, Promise.resolve(2), 3]) log(x); for await (const x of (async function* () { yield 4; yield Promise.resolve(5); })()) log(x); await ticks;`,
    'this, arguments and new.target in async arrows': `
      function F() { return (async () => { await null; return [this === globalThis, arguments.length, new.target === F, typeof this]; })(); }
      return [await F.call({}, 1, 2), await Reflect.apply(F, 5, [])];`,
  },
  { async: true },
);

sameAsNative(
  'async generators',
  {
    'requests queue up': `
      async function* g() { log('begin'); const x = yield 1; log('got', x); try { yield Promise.resolve(2); } finally { log(await 'finally'); } return 3; }
      const it = g(); const all = [it.next('a'), it.next('b'), it.next('c'), it.next('d')]; return await Promise.all(all);`,
    'turns of yields and returns': `
      const ticks = (async () => { for (let i = 0; i < 24; i++) { log('tick', i); await null; } })();
      async function* g() { yield 1; yield Promise.resolve(2); try { return Promise.resolve(3); } finally { log('finally'); } }
      for await (const x of g()) log(x); const it = g(); log(await it.next()); log(await it.next()); log(await it.next()); await ticks;`,
    'return and throw': `
      async function* g() { try { yield 1; yield 2; } catch (e) { log('caught', e); yield 'c'; } finally { log('finally'); yield 'f'; } }
      for (const way of ['return', 'throw']) for (const steps of [0, 1, 2]) { const it = g(); for (let i = 0; i < steps; i++) await it.next(); for (let i = 0; i < 3; i++) try { log(way, steps, await it[way](Promise.resolve('v'))); } catch (e) { log('thrown', e); } }`,
    'turns in a finally that return has entered': `
      async function* a() { try { yield 1; } finally { yield 2; await 3; yield 4; } } async function* b() { try { yield 1; } finally { yield* [2, 3]; } } async function* c() { try { yield 1; } finally { yield* a(); } }
      async function* d() { for (;;) { try { yield 1; } finally { try { yield 2; } finally { break; } } } yield 9; return 10; } async function* e() { try { yield* a(); } finally { yield 7; await 0; return Promise.resolve(8); } }
      for (const g of [a, b, c, d, e]) for (const ways of ['nn', 'rn', 'tn', 'rr', 'nr']) {
        let n = 0; const ticks = (async () => { for (let i = 0; i < 50; i++) { await null; n++; } })(); const it = g(); await it.next();
        for (const w of 'r' + ways + 'nn') try { const r = await it[{ n: 'next', r: 'return', t: 'throw' }[w]](w); log(n, w, r); } catch (x) { log(n, w, 'thrown', x); }
        await ticks;
      }`,
    'a rejected return': `
      async function* g() { try { yield 1; } catch (e) { log('caught', e); } return 'end'; } async function* h() { try { return Promise.reject(new Error('r')); } catch (e) { log(e); return 'h'; } }
      const it = g(); await it.next(); log(await it.return(Promise.reject('no'))); return await h().next();`,
    'yield* over both kinds': `
      async function* inner() { try { log('in', yield 'a'); yield 'b'; return 'result'; } finally { log('inner finally'); } }
      async function* g(x) { log('delegated', yield* x); }
      for (const x of [inner, () => [1, Promise.resolve(2)], () => spy('s', [1, 2])]) { const it = g(x()); log(await it.next(), await it.next('v')); log(await it.next()); }
      const it = g(inner()); await it.next(); log(await it.return('r')); const t = g(inner()); await t.next(); try { await t.throw('t'); } catch (e) { log(e); }
      try { await g(5).next(); } catch (e) { log(e); }`,
    'parameters throw at once':
      'async function* g(x = (() => { throw new Error("p"); })()) {} try { g(); } catch (e) { log("thrown", e); } const it = (async function* () {})(); return [Object.prototype.toString.call(it), await it.next()];',
    'a regular expression is yielded':
      'const it = (async function* () { try { yield /x(y)?/g.test("axy"); } finally { yield /z/; } })(); log(await it.next()); return String((await it.next()).value);',
    'for await inside, left by return': `
      async function* source() { try { yield 1; yield 2; } finally { log('closed'); await null; log('really'); } }
      async function* g() { for await (const x of source()) yield x * 10; } for await (const x of g()) { log(x); break; }
      const it = g(); await it.next(); return await it.return('r');`,
  },
  { async: true },
);

sameAsNative('elements that a pattern leaves out', {
  'are stepped over, their values unread': `
    const source = (fails) => ({ [Symbol.iterator]() { let i = 0; return watch('it', { next() { const at = i++; return { get done() { log('done', at); return at > 3; }, get value() { log('value', at); if (at === fails) throw 'value'; return at; } }; }, return() { log('closed'); return {}; } }); } });
    const fs = [() => { const [, a, , b] = source(0); return [a, b]; }, () => { let a; [, , a = 5] = source(3); return a; }, () => { const [, ...r] = source(0); return r; }, () => { const [, , , , , a] = source(9); return a; }, () => ((a, [, b]) => b)(1, source(1)), () => { for (const [, x] of [source(0)]) return x; }];
    for (const f of fs) try { log(f()); } catch (e) { log('thrown', e); } const [, g] = (function* () { try { yield 1; yield 2; } finally { log('left'); } })(); const [, h] = 'xy'; return [g, h];`,
});

sameAsNative(
  'proxies of the user',
  {
    'no trap runs where they are returned, yielded or held over a throw': `
      const p = watch('p', {}); function* g() { const q = watch('q', {}); const got = yield q; return got; } const it = g(); it.next(); log(typeof it.next(p).value);
      const f = () => { const held = watch('held', {}); try { throw 1; } catch (e) { return held; } }; const h = () => { const held = p; for (const x of spy('s', [1])) { held.x; throw held; } };
      log(typeof f()); try { h(); } catch (e) { log(e === p); }
      const a = async () => { await null; return [p]; }; log((await a())[0] === p); async function* ag() { const q = p; yield [q]; return [q]; } for await (const [x] of ag()) log(x === p);`,
  },
  { async: true },
);
