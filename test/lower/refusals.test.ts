import { describe, expect, it } from 'vitest';
import { isLowerRefusal, lowerFunction, lowerRefusals } from '../../src/2-lower/lower.ts';
import { findFunction, lowerText, sourceText } from './parse-function.ts';

/** [reason, function, the text that the refusal points at] */
const refused: readonly (readonly [keyof typeof lowerRefusals, string, string, 'sloppy'?])[] = [
  ['generator', 'function* () { yield 1; }', 'function* () { yield 1; }'],
  ['generator', '() => function* () {}', 'function* () {}'],
  [
    'for-await',
    'async (xs) => { for await (const x of xs) f(x); }',
    'for await (const x of xs) f(x);',
  ],
  ['generator', '() => async function* () {}', 'async function* () {}'],
  ['class', '() => class { m() {} }', 'class { m() {} }'],
  ['class', '() => { class A {} return A; }', 'class A {}'],
  ['with', 'function (o) { with (o) x; }', 'with (o) x;', 'sloppy'],
  ['direct-eval', '() => eval("1")', 'eval("1")'],
  ['arguments', '() => arguments[0]', 'arguments'],
  ['arguments', 'function () { return arguments[0]; }', 'arguments', 'sloppy'],
  ['arguments', 'function () { return { arguments }; }', 'arguments', 'sloppy'],
  [
    'arguments',
    'function () { return () => { "use strict"; return arguments; }; }',
    'arguments',
    'sloppy',
  ],
  ['private-name', '({ m(o) { return o.#x; } })', '#x'],
  ['super', '({ m() { super.x = 1; } })', 'super.x = 1'],
  ['super', '({ m() { [super.x] = [1]; } })', '[super.x]'],
  ['super', '({ m() { return { n() { return super.n(); } }; } })', 'super.n'],
  ['new-target', 'function () { return () => new.target; }', 'new.target'],
  ['assign-to-constant', '() => { const a = 1; a = 2; }', 'a'],
  ['assign-to-constant', '() => { const a = 1; return () => a++; }', 'a'],
  ['assign-to-constant', '() => function me() { me = 1; }', 'me'],
  [
    'sloppy-function-in-block',
    '() => { if (1) { function f() {} } }',
    '{ function f() {} }',
    'sloppy',
  ],
  ['delete-variable', 'function (x) { delete x; }', 'delete x', 'sloppy'],
  ['dynamic-import', '() => import("x")', 'import("x")'],
];

describe('lowering refuses', () => {
  for (const [reason, text, part, mode] of refused) {
    it(`${reason}: ${text}`, () => {
      const result = lowerText(text, mode !== 'sloppy');
      if (!isLowerRefusal(result)) throw new Error('it was lowered');
      expect(result.reason).toBe(reason);
      expect(text.slice(result.span.start, result.span.end)).toBe(part);
      expect(result.explanation).toBe(lowerRefusals[reason].explanation);
    });
  }

  it('class constructors', () => {
    const text = 'function () {}';
    const { node } = findFunction(text);
    const result = lowerFunction(node, sourceText(text), 'constructor', true);
    expect(result).toMatchObject({ refused: true, reason: 'class-constructor' });
  });

  it('nothing that merely looks alike', () => {
    const texts = [
      '(o) => o.arguments + o.eval(1) + o.try + { arguments: 1 }.arguments',
      '() => ({ __proto__() {}, ["__proto__"]: 1 })',
      'function () { return new.target; }',
      '({ m() { return () => super.m(); } })',
      '() => { { function f() {} } }',
      '() => (0, eval)("1")',
    ];
    for (const text of texts) expect(isLowerRefusal(lowerText(text)), text).toBe(false);
  });
});
