import { describe, expect, test } from 'vitest';
import type { AnyFunction } from '../../src/1-capture/script/captured-function.ts';
import { captured } from './captured.ts';

/**
 * What is around a function is copied where nothing can change it. Every way to change a variable `v` behind its back,
 * as the body of a function that returns `f`, which reads it, and `change`.
 */
const ways: Readonly<Record<string, string>> = {
  'an assignment in a sibling': 'let v = 1; return { f: () => v, change() { v = 2 } }',
  'an assignment in the scope': 'let v = 1; v = 3; return { f: () => v, change() {} }',
  'a later assignment':
    'let v = 1; const f = () => v; queueMicrotask(() => {}); const change = () => { v = 2 }; return { f, change }',
  'an increment': 'let v = 1; return { f: () => v, change() { v++ } }',
  'a destructuring assignment': 'let v = 1; return { f: () => v, change() { [v] = [2] } }',
  'a default of a destructuring assignment':
    'let v = 1; return { f: () => v, change() { ({ v = 2 } = {}) } }',
  'a logical assignment': 'let v = 0; return { f: () => v, change() { v ||= 2 } }',
  'the variable of a loop over keys':
    'let v = 1; return { f: () => v, change() { for (v in { k: 1 }); } }',
  'the variable of a loop over values':
    'let v = 1; return { f: () => v, change() { for (v of [2]); } }',
  'a direct eval': 'let v = 1; return { f: () => v, change() { eval("v = 2") } }',
  'an eval that declares':
    'const v = 1; return (function () { const f = () => v; const change = () => {}; eval("var v = 5"); return { f, change } })()',
  'a var that a loop fills': 'for (var v of [1, 2]); return { f: () => v, change() { v = 3 } }',
  'a var without a value yet':
    'const f = () => v; const change = () => { v = 2 }; var v; return { f, change }',
  'a const without a value yet':
    'const state = {}; state.f = () => v; state.change = () => {}; const v = 4; return state',
  'a parameter': 'return (function (v) { return { f: () => v, change() { v = 2 } } })(1)',
  'a parameter through arguments':
    'return (function (v) { const args = arguments; return { f: () => v, change() { args[0] = 2 } } })(1)',
  'a parameter that is missing': 'return (function (v) { return { f: () => v, change() {} } })()',
  'a default that was taken': 'return (function (v = 7) { return { f: () => v, change() {} } })()',
  'a caught exception': 'try { throw 1 } catch (v) { return { f: () => v, change() { v = 2 } } }',
  'a function that is declared again':
    'function v() { return 1 } return { f: () => v, change() { v = 2 } }',
  'a function in a block':
    '{ function v() { return 1 } } return { f: () => v, change() { v = 2 } }',
  'a class': 'class v {} return { f: () => v, change() { v = 2 } }',
  'the name of a function expression': 'return { f: function v() { return v }, change() {} }',
  'the name of a function around it':
    'return (function v() { return { f: () => v, change() {} } })()',
  'the name of a class around it':
    'const C = class v { static f = () => v; static change() {} }; return C',
  'an outer one of the same name':
    'let v = 1; return (() => { const w = v; { const v = 6; return { f: () => [v, w], change() {} } } })()',
  'each turn of a loop':
    'const all = []; for (let v = 0; v < 3; v++) all.push({ f: () => v, change() { v += 5 } }); return all[1]',
  'a with statement':
    'const o = { v: 1 }; with (o) { return { f: () => v, change() { o.v = 2 } } }',
  'a property of an object': 'const v = { k: 1 }; return { f: () => v, change() { v.k = 2 } }',
  'a global': 'globalThis.v = 1; return { f: () => v, change() { globalThis.v = 2 } }',
  nothing: 'const v = 8; return { f: () => v, change() {} }',
};

describe('a variable reads as the function itself would, before and after a change', () => {
  test.each(Object.entries(ways))('%s', (_way, body) => {
    const { f, change } = new Function(body)() as { f: AnyFunction; change: () => void };
    const { scope } = captured(f);
    const read = () => {
      const own = f();
      return Array.isArray(own) ? own[0] : own;
    };
    expect(scope.get('v')).toBe(read());
    change();
    expect(scope.get('v')).toBe(read());
    Reflect.deleteProperty(globalThis, 'v');
  });
});

test('and the module around it is as it was captured, whoever captures first', () => {
  const body = 'let v = 1; const w = [2]; return [() => [v, w], () => w, () => { v++; return v }]';
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const all = new Function(body)() as AnyFunction[];
    const scopes = order.map((i) => captured(all[i]!).scope);
    all[2]!();
    for (const scope of scopes) expect(scope.get('w')).toEqual([2]);
    expect(scopes[order.indexOf(0)]!.get('v')).toBe(2);
  }
});
