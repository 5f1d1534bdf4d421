// biome-ignore-all lint/suspicious/noTemplateCurlyInString: cases are source text
import { inspect } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { compileRuntime, Realm } from '../../../src/cli/run/realm.ts';
import { realmRuntime } from '../../../src/cli/run/realm-runtime.ts';
import { describeError } from '../../../src/cli/run/run-result.ts';
import { runText } from '../../../src/cli/run/run-text.ts';
import type { Execution } from '../../../src/resume/machine.ts';

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
  'collide with what is there': 'print("never"); let undefined = 1;',
  'collide with functions that cannot be declared': 'print("never"); function NaN() {}',
  'strict scripts': `"use strict"; let x = 1; function f() { return [this, x]; } print(f().length, typeof f()[0]); try { missing = 1; } catch (e) { print(e); } try { undefined = 1; } catch (e) { print(e.name); } { function block() {} } print(typeof block);`,
  'variables and functions are properties': `
    print(typeof f, v, 'v' in globalThis); var v = 1; function f() {} print(globalThis.v, delete globalThis.v, Object.getOwnPropertyDescriptor(globalThis, 'f').configurable); { function inBlock() {} } print(typeof globalThis.inBlock);`,
  'loops and closures write them': `
    let sum = 0, fs = []; for (let i = 0; i < 3; i++) { sum += i; fs.push(() => sum + i); } const add = (n) => { sum += n; return sum; }; print(add(10), fs.map((f) => f()), (() => { 'use strict'; sum **= 2; return sum; })()); sum ??= 1; [sum] = [2]; ({ sum = 3 } = {}); print(sum--, sum);`,
});
