// biome-ignore-all lint/suspicious/noTemplateCurlyInString: cases are source text
import { sameAsNative } from './differential.ts';

sameAsNative('functions', {
  'names and lengths': `
    const a = () => {}; let b = function () {}; const { c = () => {} } = {}; const [d = function () {}] = []; const k = Symbol('k');
    const o = { e: () => {}, f() {}, ['g' + 1]: () => {}, [k]: () => {}, [k + '']: 1, get h() { return 1; }, i: function named() {} };
    b ||= null; let n = null; n ??= () => {}; (b) = function () {};
    return [a, b, c, d, o.e, o.f, o.g1, o[k], Object.getOwnPropertyDescriptor(o, 'h').get, o.i, n, (x, y = 1, ...z) => {}].map((f) => [f.name, f.length]);`.replace(
    ", [k + '']: 1",
    '',
  ),
  'the own name of a function expression': `
    const f = function me(n) { try { me = 1; } catch (e) { log(e); } return n ? me(n - 1) : typeof me; }; return [f(2), (function g() { var g; return typeof g; })(), (function h(h) { return h; })(1)];`,
  'hoisting and duplicates':
    'log(typeof f, typeof v, f()); var v = 1; function f() { return 1; } function f() { return 2; } var f; return [f(), typeof g]; function g() {}',
  'parameters and the body are apart': `
    const f = (a, get = () => a, set = (v) => { a = v; }) => { var a; log(a); a = 5; log(get()); set(6); return [a, get()]; };
    const g = (x = y, y = 1) => x; try { g(); } catch (e) { log(e); } return [f(1), ((a, b = a, [c, { d = c }] = [b, {}]) => [a, b, c, d])(1)];`,
  'strict arguments':
    'function f(a) { a = 5; arguments[0] = 6; return [a, arguments[0], arguments.length, Object.prototype.toString.call(arguments), [...arguments]]; } return [f(1, 2), f(), (function () { return (() => arguments[0])(9); })(7)];',
  'arguments of nested functions':
    'function f() { const outer = arguments.length; return [outer, (function () { return arguments.length; })(1, 2), (() => arguments.length)(1, 2, 3), { m() { return arguments.length; } }.m(1)]; } return f(1, 2, 3, 4);',
  'calls that fail':
    'const o = { a: 1, b: {} }; for (const f of [() => o.a(), () => o.b.c(), () => undefined(), () => new o.a(), () => new (() => {})(), () => o.x.y, () => null[o], () => (() => {})`a`.b]) try { f(); } catch (e) { log(e); }',
  receivers:
    'const o = { m() { return this === o; }, get f() { return o.m; }, n: { m() { return this === o.n; } } }; return [o.m(), (o.m)(), (0, o.m)(), o["m"](), o?.m(), o.n?.["m"](), (o?.m)(), o.f(), o.f.call(o), o.m?.call(o)];',
  'order of a call':
    'const t = (x, v) => (log(x), v); t("object", { m: (...xs) => xs })[t("key", "m")](t(1, 1), ...t("spread", [2, 3]), t(4, 4)); try { log.nothing(t("arg")); } catch (e) { log(e); }',
  'new and its order':
    'const t = (x, v) => (log(x), v); function F(...xs) { log(new.target === F, xs); } new (t("callee", F))(t(1, 1), ...spy("s", [2])); log(F() === undefined); return new F instanceof F;',
  'tagged templates':
    'const tag = (s, ...v) => [s, s.raw, v, Object.isFrozen(s)]; const f = (x) => ((s) => s)`a${x}\\n`; log(f(1) === f(2), tag`\\u{41}${1}\\x`, tag`${1}${2}`); return { t() { return this.v; }, v: 3 }.t``;',
  'direct and closure cells':
    'let n = 0; const inc = () => n++; const get = () => n; inc(); inc(); n += 10; return [get(), (() => { let n = 1; return (() => n)(); })()];',
});

sameAsNative(
  'sloppy code',
  {
    'mapped arguments': `
      function f(a, b, c) { arguments[0] = 'x'; b = 'y'; arguments.length = 9; const g = () => a; arguments[0] = 'z'; delete arguments[1]; b = 'w'; return [a, b, c, [...arguments].slice(0, 3), g(), Object.keys(arguments)]; }
      return [f(1, 2), f(), f(1, 2, 3, 4)];`,
    'arguments of parameters with the same name':
      'function f(a, a, b) { arguments[1] = 5; a++; return [a, arguments[0], arguments[1], arguments.length]; } return f(1, 2, 3);',
    'arguments with defaults are apart':
      'function f(a, b = 2) { arguments[0] = 9; a = 3; return [a, arguments[0], arguments.length]; } return f(1);',
    'a variable and a function called arguments':
      'function f() { var arguments; return typeof arguments; } function g() { var arguments = 1; return arguments; } function h(arguments) { return arguments; } function i() { function arguments() {} return typeof arguments; } return [f(), g(), h(5), i()];',
    'arguments that escape':
      'const change = (xs) => { xs[0] = "changed"; }; function f(a) { change(arguments); return a; } return f(1);',
    'this is an object':
      'function f() { return [typeof this, this === globalThis]; } return [f(), f.call(1), f.call(null), f.call("s"), (() => this === globalThis)()];',
    'functions in blocks': `
      log(typeof f, typeof g, typeof h); { log(f()); function f() { return 1; } f = null; } log(typeof f); if (true) function g() {} else function h() {}
      switch (1) { case 0: function s() { return 's'; } case 1: log(s()); } label: function l() { return 'l'; } { let b = 1; { function b() {} } } 
      try { throw 1; } catch (c) { { function c() {} } } return [typeof g, typeof h, typeof s, l(), typeof b, typeof c];`,
    'functions in blocks and parameters':
      'function f(a, b) { { function a() {} } { function b() {} b = 7; } return [typeof a, b]; } return f(1, 2);',
    'the same function in blocks twice':
      '{ function f() { return 1; } } const first = f(); { function f() { return 2; } } return [first, f()];',
    'failed writes are ignored':
      'const o = Object.freeze({ a: 1 }); o.a = 2; o.b = 3; "s".x = 1; (function me() { me = 1; return typeof me; })(); return [o, delete o.a, (5).y = 6];',
    'deletes of names':
      'globalThis.__there = 1; var v = 1; return [delete __there, typeof __there, delete v, delete missingElements, v];',
    'assignments to constants':
      'const c = 1; for (const f of [() => { c = 2; }, () => { c += log("right"); }, () => c++, () => { [c] = [1]; }, () => { c ||= 2; c &&= 3; }]) try { f(); } catch (e) { log(e); } for (const x of [1]) try { x = 2; } catch (e) { log(e); }',
    'octals, HTML comments and old words':
      'var let = 1; var yield = 2; var static = 3; var async = 4; return [010, "\\101", let, yield, static, async, typeof of]; var of;',
    'labels and completion of finally':
      'a: { try { return 1; } finally { break a; } } b: for (;;) { try { throw 1; } finally { break b; } } return (function () { for (var i = 0; ; i++) try { return i; } finally { if (i < 3) continue; } })();',
    'for var initialisers and catch variables':
      'for (var i = log("init", "x") in { a: 1, b: 2 }) log(i); try { throw 1; } catch (e) { var e = 2; log(e); } return [i, e];',
  },
  { sloppy: true },
);

/** Code of the frames that bytecode runs in is not called: this is seen where functions made in the trace are inlined. */
sameAsNative(
  'sloppy functions while they run',
  {
    'they have a caller and arguments of their own': `
      function f(a) { return [f.arguments.length, f.arguments[1]]; } const names = (g) => Object.getOwnPropertyNames(g).sort(); const strict = function () { 'use strict'; };
      try { (() => { 'use strict'; return strict.caller; })(); } catch (e) { log(e.name); }
      return [f(1, 2), f.arguments, names(f), names(function () {}), names(() => 1), names({ m() {} }.m), names(strict), names(class {}), names(async function () {}), names(function* () {}), Object.getOwnPropertyDescriptor(f, 'caller'), new f(1) instanceof f];`,
    'their arguments tell which one it is':
      'function f(a) { return [a, arguments.callee === f]; } return [f(1, 2), f()];',
  },
  { sloppy: true, isCaptured: false },
);
