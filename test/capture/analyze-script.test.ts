import { parse } from 'acorn';
import { describe, expect, test } from 'vitest';
import { analyzeScript } from '../../src/1-capture/script/analyze-script.ts';
import { type FunctionFacts, isNeverReassigned } from '../../src/1-capture/script/binding.ts';
import { entryRanges } from '../../src/1-capture/script/entry-positions.ts';

const analyze = (text: string, sourceType: 'module' | 'script' = 'module') =>
  analyzeScript(parse(text, { ecmaVersion: 'latest', sourceType })).functions;

/** The last function is the one under test: `name` of constant ones, `name*` of others. */
function free(text: string, sourceType?: 'module' | 'script'): string {
  const facts = analyze(text, sourceType).at(-1) as FunctionFacts;
  return [...facts.free]
    .map(([name, binding]) =>
      binding === undefined ? `${name}?` : isNeverReassigned(binding) ? name : `${name}*`,
    )
    .join(' ');
}

describe('free names', () => {
  test.each([
    ['const a = 1; (b) => a + b + c', 'a c?'],
    ['import a, { b } from "x"; () => [a, b]', 'a* b*'],
    ['(function f() { return f })', 'f'],
    ['(function f() { return [f, arguments, new.target] })', 'f'],
    ['({ k: v, [w]: x } = {}) => ({ k, v, x, y: z })', 'w? k? z?'],
    [
      '({ a: { b = c } }, ...[d]) => { for (const e of d) b(e.f, g); { let h; } return h }',
      'c? g? h?',
    ],
    ['() => { try { } catch ({ e }) { e; x } lab: for (;;) break lab }', 'x?'],
    ['() => { switch (a) { case b: let c = 1; c } return c }', 'a? b? c?'],
    ['() => { class A extends B { [c] = d; static { var e; e; f; } m() { return A } }; e }', ''],
  ])('%s', (text, expected) => {
    const all = analyze(text)[0] as FunctionFacts;
    if (expected === '') expect([...all.free.keys()]).toEqual(['B', 'c', 'd', 'f', 'e']);
    else expect(free(text)).toBe(expected);
  });

  test('of inner functions belong to the outer ones as well', () => {
    const [outer, inner] = analyze('let x = 1; () => { let y; return () => [x, y, z] }');
    expect([...(outer?.free.keys() ?? [])]).toEqual(['x', 'z']);
    expect([...(inner?.free.keys() ?? [])]).toEqual(['x', 'y', 'z']);
  });
});

describe('never reassigned', () => {
  test.each([
    ['let a = 1; () => a', 'a'],
    ['let a; () => a', 'a*'],
    ['let a; a = 1; () => a', 'a*'],
    ['let a = 1; a++; () => a', 'a*'],
    ['let a = 1; ({ x: [a] } = {}); () => a', 'a*'],
    ['let a = 1; for (a of []) ; () => a', 'a*'],
    ['var a = 1; () => a', 'a'],
    ['var a = 1; var a = 2; () => a', 'a*'],
    ['function f() { for (const x of y) { var a = x; g(() => a) } }', 'a*'],
    ['for (const x of y) { let a = x; g(() => a) }', 'a'],
    ['for (var a of y) g(() => a)', 'a*'],
    ['for (let a of y) g(() => a)', 'a'],
    ['for (let a = 0; a < 3; a++) g(() => a)', 'a*'],
    ['function a() {} () => a', 'a'],
    ['function a() {} a = 1; () => a', 'a*'],
    ['export function a() {} () => a', 'a'],
    ['export default function a() {} () => a', 'a'],
    ['class A {} () => A', 'A'],
    ['class A {} A = 1; () => A', 'A*'],
    ['(a, b) => { b = 1; return () => [a, b] }', 'a b*'],
    ['try {} catch (e) { () => e }', 'e'],
    ['let a = 1; { let a = 2; a = 3 } () => a', 'a'],
    ['let a = 1; { let a = 2; () => a } a = 2', 'a'],
    ['let a = 1; { () => a } { let a; () => { a = 1 } } () => a', 'a'],
    ['let a = 1; const b = 2; function f() { eval("a = 2") } () => [a, b]', 'a* b'],
  ])('%s', (text, expected) => {
    expect(free(text)).toBe(expected);
  });

  test('parameters may change through sloppy `arguments`', () => {
    const text = 'function f(a) { arguments[0] = 1; return () => a }';
    expect(free(text, 'script')).toBe('a*');
    expect(free(text, 'module')).toBe('a');
  });
});

test('strictness follows directives, classes and modules', () => {
  const text = `function a() {} function b() { 'use strict'; return () => {} } class C { m() {} }`;
  const strictness = analyze(text, 'script').map((facts) => facts.strict);
  expect(strictness).toEqual([false, true, true, true]);
  expect(analyze('() => {}').at(0)?.strict).toBe(true);
});

test('`this` and `super` count for the arrows they pass through', () => {
  const text = 'class A { x = () => this; m() { return () => () => super.m() } }';
  const uses = analyze(text).map(({ kind, usesThis, usesSuper }) => [kind, usesThis, usesSuper]);
  expect(uses).toEqual([
    ['arrow', true, false],
    ['method', true, true],
    ['arrow', true, true],
    ['arrow', true, true],
  ]);
});

test('private names count for the functions inside the class that declares them', () => {
  const text = `class A {
    #a;
    m() { return () => this.#a; }
    made() { return class { #a; #b; at(o) { return (() => this.#a + this.#b)(); } of(o) { return #b in o } } }
    mixed() { return class { #b; at(o) { return o.#a + this.#b } } }
    based() { return class extends this.#a { #a; at() { return this.#a } } }
  }`;
  const names = analyze(text).map(({ privateNames }) => [...privateNames].join());
  expect(names).toEqual(['a', 'a', '', 'a,b', 'a,b', 'b', 'a', 'a,b', 'a', 'a']);
});

describe('a scope is not taken in a static block or field', () => {
  const unsafe = (text: string) => {
    const facts = analyze(text).find(({ kind }) => kind === 'arrow') as FunctionFacts;
    return entryRanges(facts, () => false).unsafe?.why;
  };
  const inside = 'a static block or field begins';

  test.each([
    ['import { a } from "x"; () => { class B { static { a() } } }', inside],
    ['import { a } from "x"; () => { class B { static b = a() } return a }', inside],
    ['import { a } from "x"; (b = class { static b = 1 }) => a', inside],
    ['() => { class B { static b = 1 } return this }', inside],
    ['let a; () => { class B { static b = 1 } return a }', undefined],
    [
      'import { a } from "x"; () => { class B { b = 1; static c; static d() { class C { static e = 1 } } } return a }',
      undefined,
    ],
  ])('%s', (text, expected) => {
    expect(unsafe(text)).toBe(expected);
  });
});
