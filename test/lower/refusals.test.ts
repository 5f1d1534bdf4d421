import { describe, expect, it } from 'vitest';
import { isLowerRefusal, lowerFunction, lowerRefusals } from '../../src/2-lower/lower.ts';
import { findFunction, lowerText, sourceText } from './parse-function.ts';

/** [reason, function, the text that the refusal points at] */
const refused: readonly (readonly [keyof typeof lowerRefusals, string, string, 'sloppy'?])[] = [
  ['with', 'function (o) { with (o) x; }', 'with (o) x;', 'sloppy'],
  ['direct-eval', '() => eval("1")', 'eval("1")'],
  ['arguments', '() => arguments[0]', 'arguments'],
  ['arguments', '() => () => arguments', 'arguments'],
  ['private-name', '({ m(o) { return o.#x; } })', '#x'],
  ['es5-generator', '() => __generator(this, (_a) => {})', '__generator(this, (_a) => {})'],
  ['await-using', 'async () => { await using x = f(); }', 'await using x = f();'],
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

  for (const [reason, text] of [
    ['new-target', 'function outer() { return () => new.target; }'],
    ['super', 'class extends Object { constructor() { return () => super(); } }'],
  ] as const) {
    it(`${reason}: of the function around a captured arrow`, () => {
      const { body } = findFunction(text).node;
      const [statement] = body.type === 'BlockStatement' ? body.body : [];
      const arrow = statement?.type === 'ReturnStatement' ? statement.argument : undefined;
      if (arrow?.type !== 'ArrowFunctionExpression') throw new Error('no arrow');
      const result = lowerFunction(arrow, sourceText(text), 'arrow', true);
      expect(result).toMatchObject({ refused: true, reason });
    });
  }

  it('nothing that merely looks alike', () => {
    const texts = [
      '(o) => o.arguments + o.eval(1) + o.try + { arguments: 1 }.arguments',
      '() => ({ __proto__() {}, ["__proto__"]: 1 })',
      'function () { return () => new.target; }',
      'function () { return () => arguments; }',
      '() => class { #x = 1; m(o) { return o.#x; } }',
      '({ m() { return () => super.m(); } })',
      '() => { { function f() {} } }',
      '() => (0, eval)("1")',
    ];
    for (const text of texts) expect(isLowerRefusal(lowerText(text)), text).toBe(false);
  });
});
