// biome-ignore-all lint/suspicious/noTemplateCurlyInString: cases are source text
import { inspect } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { realmRuntime } from '../../../src/cli/run/realm-runtime.ts';
import { describeError } from '../../../src/cli/run/run-result.ts';
import { runText } from '../../../src/cli/run/run-text.ts';
import type { Execution } from '../../../src/vm/machine/machine.ts';
import { compileRuntime, Realm } from '../../../src/vm/realm/realm.ts';

const executions: readonly Execution[] = [
  { executor: 'machine' },
  { executor: 'interpreter' },
  { executor: 'machine', suspendEverywhere: true },
  { executor: 'interpreter', suspendEverywhere: true },
];

const file = 'case.js';
let runtime: ReturnType<typeof compileRuntime>;

beforeAll(async () => {
  runtime = compileRuntime(await realmRuntime());
});

/** What a script prints, and how it ends. */
function outcome(run: (realm: Realm) => void): string {
  const lines: string[] = [];
  const realm = new Realm(runtime, (line) => lines.push(line));
  try {
    run(realm);
    lines.push('ends');
  } catch (error) {
    lines.push(`throws ${describeError(error)}`);
  }
  return lines.join('\n');
}

/** Whole scripts, each in a realm of its own, natively and through their bytecode. */
function sameAsNative(area: string, scripts: Readonly<Record<string, string>>): void {
  describe(area, () => {
    for (const [name, text] of Object.entries(scripts)) {
      it(name, () => {
        const expected = outcome((realm) => void realm.evaluate(text, file));
        for (const execution of executions) {
          const found = outcome((realm) => {
            expect(runText(realm, text, file, execution), 'runs natively').toBeUndefined();
          });
          expect(found, inspect(execution)).toBe(expected);
        }
      });
    }
  });
}

sameAsNative('names that a script declares', {
  'are seen by indirect eval and made functions': `
    const see = eval; let x = 1; const k = 2; class C { static n = k; }
    print(see('[x, k, C.n]'), new Function('return x + k')(), typeof globalThis.x, Object.keys(globalThis));
    see('x = 5'); x++; print(x, see('x++'), x); try { see('k = 1'); } catch (e) { print(e); } try { k = 1; } catch (e) { print(e); }`,
  'have no value before their declaration': `
    const see = eval; for (const f of [() => x, () => { x = 1; }, () => typeof x, () => see('typeof x'), () => C, () => { a; }]) try { print(f()); } catch (e) { print(e.name); }
    try { x; } catch (e) { print(e); } let x; print(x, typeof x); class C { static self = C; } print(C.self === C);
    const [a, b = a] = [7]; print(a, b);`,
  'get their values in the order of a pattern': `
    const see = eval; const look = () => ['p', 'q', 'r'].map((n) => { try { return see(n); } catch (e) { return e.name; } });
    let { p, q = look().join(), ...r } = { p: 1, z: 2 }; print(p, q, r.z, look().length); let [s, t = s, [u] = [t]] = [3]; print(s, t, u);`,
  'stay without a value when the script throws': `
    const see = eval; var later = () => { try { return late; } catch (e) { return e; } };
    try { (() => { throw 1; })(); } catch { print(later()); } Promise.resolve().then(() => print('job')); let late = (() => { throw new RangeError('end'); })();`,
  'name their functions and classes': `
    let f = () => {}, g = function () {}, { h = () => {} } = {}, [i = class {}] = []; const j = class {}; class K {} print(f.name, g.name, h.name, i.name, j.name, K.name, K.toString());`,
  'may be those of sloppy code':
    'let yield = 1, async = 2, let_ = 3, await = 4; print(yield + async + let_ + await); var of = 5; print(of);',
  'may be `arguments`': `
    print(typeof arguments); var arguments = 1; print((() => arguments)(), globalThis.arguments); let escape; print(typeof escape); (function () { print(arguments.length); })(1, 2);
    class C { x = () => (() => globalThis.arguments)(); } print(new C().x());`,
  'collide with what is there': 'print("never"); let undefined = 1;',
  'collide with functions that cannot be declared': 'print("never"); function NaN() {}',
  'strict scripts': `"use strict"; let x = 1; function f() { return [this, x]; } print(f().length, typeof f()[0]); try { missing = 1; } catch (e) { print(e); } try { undefined = 1; } catch (e) { print(e.name); } { function block() {} } print(typeof block);`,
  'variables and functions are properties': `
    print(typeof f, v, 'v' in globalThis); var v = 1; function f() {} print(globalThis.v, delete globalThis.v, Object.getOwnPropertyDescriptor(globalThis, 'f').configurable); { function inBlock() {} } print(typeof globalThis.inBlock);`,
  'loops and closures write them': `
    let sum = 0, fs = []; for (let i = 0; i < 3; i++) { sum += i; fs.push(() => sum + i); } const add = (n) => { sum += n; return sum; }; print(add(10), fs.map((f) => f()), (() => { 'use strict'; sum **= 2; return sum; })()); sum ??= 1; [sum] = [2]; ({ sum = 3 } = {}); print(sum--, sum);`,
});

sameAsNative('what a script does to the language does not change what instructions do', {
  'elements on the prototypes of arrays and objects': `
    let got = [], set = []; const define = (on, key, d) => Object.defineProperty(on, key, { configurable: true, ...d });
    for (const on of [Array.prototype, Object.prototype]) {
      for (const key of [0, 1, 2]) define(on, key, { get: () => { got.push(key); }, set: (v) => { set.push(v); } });
      const f = (a, b, ...c) => { const [d, e = 1, ...g] = [a, ...c]; return [d, e, g.length, \`\${a}\${b}\`, { ...{ a } }.a, c.length]; };
      function* g(x) { const y = yield x; return [x, y]; } const it = g(1); it.next();
      const made = [f(1, 2, 3, 4), it.next(5).value, (function () { return arguments.length; })(1, 2), Math.max(...[1, 2])];
      for (const key of [0, 1, 2]) delete on[key];
      print(made.map(String), got.length, set.length);
    }
    define(Array.prototype, 0, { value: 1, writable: false }); const list = [7, 8]; class A { m(x) { return [x]; } } print(list.length, new A().m(5)[0]); delete Array.prototype[0];`,
  'iterators of arrays': `
    const own = Array.prototype[Symbol.iterator]; delete Array.prototype[Symbol.iterator]; const seen = [];
    const fs = [([a]) => a, (...r) => r.length, () => new (class extends Array { constructor(...a) { super(...a); } })(1).length, () => { unknown = 1; return unknown; }, () => String.raw\`a\${1}b\`]; for (let i = 0; i < fs.length; i++) { const f = fs[i]; try { seen.push(f([1])); } catch (e) { seen.push(e.name); } }
    Array.prototype[Symbol.iterator] = own; print(seen);`,
  'global names': `
    let Array = 1, Object = 2, Reflect = 3, TypeError = 4, WeakMap = 5, Symbol = 6, Proxy = 7; const Function = 8; class ReferenceError {}
    const f = function (a, ...b) { const { c = a, ...d } = { c: 1, d: 2 }; return [a, b.length, c, d.d, typeof new.target, arguments.length]; };
    function* g() { yield* [1, 2]; } print(f(1, 2), [...g()], new f().length); class C { #p = 1; static q = new C().#p; } print(C.q, Array + Object + Reflect);
    try { null.x; } catch (e) { print(e instanceof ReferenceError, e.name); } try { later; } catch (e) { print(e.name); } let later;`,
  'methods that the language itself uses': `
    const kept = [WeakMap.prototype.get, Reflect.apply, Object.defineProperty]; WeakMap.prototype.get = WeakMap.prototype.set = () => { throw 'patched'; }; Reflect.apply = Reflect.construct = Object.defineProperty = Object.freeze = () => { throw 'patched'; };
    Function.prototype.call = Function.prototype.apply = Array.prototype.push = () => { throw 'patched'; };
    const tag = (s) => s.raw.length; const f = () => tag\`a\${1}b\`; class A { #x = 1; get x() { return this.#x; } static { this.y = 2; } } print(f(), new A().x, A.y, [...'ab'].length, (function () { return arguments[0]; })(3));`,
});
