import { Session } from 'node:inspector';
import { compileFunction } from 'node:vm';
import { expect, test, vi } from 'vitest';
import { endCaptureSession } from '../../src/1-capture/capture.ts';
import type { AnyFunction } from '../../src/1-capture/script/captured-function.ts';
import { loadModule } from '../plugin/load-module.ts';
import { captured } from './captured.ts';

/** Whether taking a function's scope needed a call of it under the debugger. */
function isProbed(fn: AnyFunction): boolean {
  endCaptureSession();
  const post = vi.spyOn(Session.prototype, 'post');
  captured(fn);
  const methods = post.mock.calls.map(([method]) => method as string);
  post.mockRestore();
  return methods.includes('Debugger.enable');
}

const probed = (...functions: AnyFunction[]): boolean[] => functions.map(isProbed);

/** The module's `all`. */
async function functionsOf(code: string): Promise<AnyFunction[]> {
  return (await loadModule(code)).all as AnyFunction[];
}

test('script-evaluator/the second function of a module needs no debugger', async () => {
  const [f, ...others] = await functionsOf(`
    let n = 1;
    const f = () => n;
    function g() { return n++ }
    class C { m() { return n } static s = () => n }
    const o = { m() { return n } };
    export const all = [f, g, C.prototype.m, C.s, o.m];
  `);
  expect(probed(f!, ...others)).toEqual([true, false, false, false, false]);
  others[0]!();
  const scopes = [f!, ...others].map((fn) => captured(fn).scope);
  expect(scopes.map(({ get }) => get('n'))).toEqual([2, 2, 2, 2, 2]);
  scopes[3]!.set('n', 7);
  expect([f!(), scopes[1]!.get('n')]).toEqual([7, 7]);
});

test('script-evaluator/what uses more than the module is probed', async () => {
  const [f, secret, superior, inner, kept, own] = await functionsOf(`
    let n = 1; n = 1;
    class C { #p = 1; p() { return this.#p + n } }
    const o = { m() { return super.n + n } };
    const make = () => { let n = 2; n = 2; return () => n };
    const keep = () => { const n = 3; return () => n };
    export const all = [() => n, C.prototype.p, o.m, make(), keep(), function n() { return n }];
  `);
  const found = probed(f!, secret!, superior!, inner!, kept!, own!);
  // What never changes is copied.
  expect(found).toEqual([true, true, true, true, false, true]);
  expect(captured(inner!).scope.get('n')).toBe(2);
  expect(captured(kept!).scope.get('n')).toBe(3);
  expect(captured(own!).scope.get('n')).toBe(own);
});

test('script-evaluator/names that its own function hides are not read through it', async () => {
  const [f, g, h] = await functionsOf(`
    let n = 1, m = 2; n = 1; m = 2;
    function f(x) { const n = x; return n + m }
    export const all = [f, () => n, () => m];
  `);
  expect(probed(f!, g!, h!)).toEqual([true, true, false]);
  expect(captured(g!).scope.get('n')).toBe(1);
});

test('script-evaluator/a method as first: it sees the module, but for its class', async () => {
  const [m, f, make] = await functionsOf(`
    let n = 1; n = 1;
    class B { m() { return [n, B] } }
    export const all = [B.prototype.m, () => n, () => new B()];
  `);
  expect(probed(m!, f!, make!)).toEqual([true, false, false]);
  const B = captured(make!).scope.get('B') as AnyFunction;
  expect((B.prototype as Record<string, unknown>).m).toBe(m);
});

const body = `
  const own = []; n += 0;
  function a() { own.push(n); return n }
  function b() { return n + own.length }
  return { a, b };
`;

test('script-evaluator/a script that ran twice: each function has the variables of its run', () => {
  const run = compileFunction(body, ['n']) as (n: number) => Record<'a' | 'b', AnyFunction>;
  const [one, two] = [run(1), run(2)];
  expect(probed(one.a, one.b, two.b, two.a)).toEqual([true, false, true, true]);
  const values = [one.a, one.b, two.b, two.a].map((fn) => captured(fn).scope.get('n'));
  expect(values).toEqual([1, 1, 2, 2]);
});

test('script-evaluator/a script without an object of its own is probed each time', () => {
  const text = 'const shared = n.shared; n = n; return [() => [n, shared], () => [n, shared]]';
  const run = compileFunction(text, ['n']) as (n: object) => [AnyFunction, AnyFunction];
  const shared = {};
  const [one, two] = [run({ shared, id: 1 }), run({ shared, id: 2 })];
  expect(probed(one[0], two[1])).toEqual([true, true]);
  expect(captured(two[1]).scope.get('n')).toEqual({ shared, id: 2 });
});
