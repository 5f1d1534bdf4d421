/** Functions are parsed one by one: as if their whole scripts had been parsed. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from 'acorn';
import { transformSync } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { analyzeScript } from '../../src/1-capture/script/analyze-script.ts';
import { type FunctionFacts, isNeverReassigned } from '../../src/1-capture/script/binding.ts';
import { functionNames } from '../../src/1-capture/script/function-names.ts';
import { LazyScript } from '../../src/1-capture/script/lazy-script.ts';
import { parseScript, scriptSyntax } from '../../src/1-capture/script/parse-script.ts';
import { isRefusal } from '../../src/1-capture/script/refusal.ts';
import { endOfBlock } from '../../src/vm/syntax/end-of-block.ts';
import { parseLazily } from '../../src/vm/syntax/parse-lazily.ts';

const syntax = scriptSyntax('module');

const asText = (_: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `${value}n` : value;

/** All that a capture uses of a function, as data. */
function described(
  names: ReadonlyMap<object, string>,
  { node, free, privateNames, declared, ...facts }: FunctionFacts,
) {
  const { kind, strict, usesThis, usesSuper, bodyNames, written } = facts;
  const variables = [...free].map(([name, binding]) => [
    name,
    binding && [binding.kind, binding.from, isNeverReassigned(binding)],
  ]);
  const sets = [privateNames, declared, bodyNames, written].map((names) => [...names]);
  const name = names.get(node);
  return {
    node: JSON.stringify(node, asText),
    kind,
    strict,
    usesThis,
    usesSuper,
    variables,
    sets,
    name,
  };
}

const root = join(import.meta.dirname, '../..');
const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file));

const compiled = (file: string, format: 'esm' | 'cjs'): string => {
  const text = readFileSync(join(root, file), 'utf8');
  return transformSync(text, { loader: 'ts', target: 'es2022', format }).code;
};

/** What captures find, function by function in the given order. */
function capturedIn(code: string, isModule: boolean, starts: readonly number[]) {
  const script = LazyScript.parse(code, isModule) as LazyScript;
  const found = starts.map((start) => script.functionAt(start) as FunctionFacts);
  const names = functionNames(script.ast);
  return { found: found.map((facts) => described(names, facts)), unparsed: script.unparsed };
}

function expectSame(code: string, isModule: boolean): { functions: number; unparsed: number } {
  const whole = parseScript(code, isModule) as Program;
  const [{ functions }, names] = [analyzeScript(whole), functionNames(whole)];
  const starts = functions.map(({ node }) => node.start);
  const expected = functions.map((facts) => described(names, facts));
  const { found } = capturedIn(code, isModule, starts);
  expect(found).toEqual(expected);
  const inside = [...starts].reverse();
  expect(capturedIn(code, isModule, inside).found.reverse()).toEqual(expected);
  const [first] = starts;
  const { unparsed } = capturedIn(code, isModule, first === undefined ? [] : [first]);
  return { functions: functions.length, unparsed };
}

describe('each function of a script, as in the whole script', () => {
  // Modules, and the same text inside a function, as bundles and test runners wrap it.
  test.each(['runtime/nn', 'runtime/optim', 'src/dispatch', 'src/vm'])('%s', (folder) => {
    const counts = { functions: 0, unparsed: 0 };
    for (const [i, file] of filesIn(folder).entries()) {
      if (i % 5 > 0) continue;
      const { functions, unparsed } = expectSame(compiled(file, 'esm'), true);
      counts.functions += functions;
      counts.unparsed += unparsed;
      expectSame(`(function wrapped(require) { ${compiled(file, 'cjs')} })()`, false);
    }
    expect(counts.functions).toBeGreaterThan(20);
    expect(counts.unparsed).toBeGreaterThan(0.2 * counts.functions);
  });

  test('whatever assigns its variables', () => {
    const code = `
      let read = 0, byFunction = 0, byMethod = 0, byInner = 0, byDefault = 0, byPattern = 0;
      let byField = 0, byPrivate = 0, byConstructor = 0, byStatic = 0, byEscape = 0, free = 0, $ = 0, a$b = 0, ä = 0, äö = 0;
      var twice = 1;
      function replaced() {}
      class Replaced {}
      const all = () => [read, byFunction, byMethod, byInner, byDefault, byPattern, byField,
        byPrivate, byConstructor, byStatic, byEscape, free, $, a$b, ä, äö, twice, replaced, Replaced];
      function dollars() { $++; }
      function inner$() { a$b = 1; }
      function umlaut() { ä = äö = 1; }
      function f() { byFunction = read; twice++; }
      const o = { m() { byMethod++; }, get g() { return (a = () => { byInner = 1; }) => a; } };
      const g = (a = () => { byDefault = 1; }) => { [byPattern] = a; let free = 1; free = 2; };
      class C extends Object {
        f = () => { byField = 1; };
        #p() { byPrivate = 1; }
        constructor() { super(); const inner = () => { byConstructor = 1; }; }
        static { const inner = function () { byStatic = 1; }; }
        m() { return this.#p() + super.m(); }
        get [(() => { replaced = 1; return 'k'; })()]() { return () => this; }
      }
      const h = () => { \\u0062yEscape = 1; for (Replaced of []) {} };
      function outer(a, b, c) {
        let d = 0, e = 0;
        const fixed = () => [a, d, e];
        function inner() { a = 1; if (b) { d++; } }
        return [fixed, inner, () => { c = arguments; }, function () { arguments[0] = 1; return e; }];
      }
      function sees(a, b) { const inner = () => { return eval('a = 1'); }; return () => a; }
      function named() { return function own() { own = 1; return own; }; }
    `;
    for (const isModule of [true, false]) {
      const unescaped = code.replaceAll('\\\\', '\\');
      expectSame(unescaped, isModule);
      expectSame(`function wrapped(require) { ${unescaped} }`, isModule);
    }
  });
});

test('bodies that cannot assign its variables stay unparsed', () => {
  const code = `
    const other = (model) => { model = 1; };
    class Model { constructor(model) { this.model = model; } }
    function make(model) {
      const unrelated = () => { other(); };
      const assigns = () => { model = 2; };
      return () => { return model; };
    }`;
  const script = LazyScript.parse(code, true) as LazyScript;
  expect(script.unparsed).toBe(3);
  const facts = script.functionAt(code.lastIndexOf('() =>')) as FunctionFacts;
  expect(facts.free.get('model')!.assignments).toBe(1);
  expect(script.unparsed).toBe(3); // of `other`, `Model` and `unrelated`
});

test('a script that does not parse refuses where the body is needed', () => {
  const script = LazyScript.parse('let n; function f() { return 1 } function g() { n n }', true);
  if (isRefusal(script)) throw new Error(script.detail);
  expect(script.functionAt(7)).toMatchObject({ kind: 'function' });
  expect(script.functionAt(33)).toMatchObject({ reason: 'unparsable' });
  expect(script.variable('n')).toMatchObject({ reason: 'unparsable' });
});

test('comments that begin like operators are known to the parser alone', () => {
  const code = `let n = 0; function f() { <!-- it's {
    n = 1 }\nfunction g() { return n }`;
  expectSame(code, false);
});

describe('a body is skipped up to its brace', () => {
  test.each([
    ['strings', `{ a("}", '}\\'}', "\\"}") }`],
    ['templates', `{ \`}\${{ b: \`}\${"}"}\` }}$}\\\`}\` }`],
    ['comments', '{ /* } */ a // }\n }'],
    ['quotients', '{ a = b / c\n d /= e;\n // f / g\n g = (h) / 2 \n }'],
    ['blocks and objects', '{ if (a) { b({ c: {} }) } else { } }'],
  ])('%s', (_, block) => {
    expect(endOfBlock(`x${block}} after`, 1)).toBe(1 + block.length);
  });

  test.each([
    ['a slash, which may begin a regular expression', '{ a = /}/ }'],
    ['two slashes', '{ a = b / c / d }'],
    ['a string that has no end', '{ " }'],
    ['a template that has no end', `{ \`\${ } }`],
    ['no brace', '{ a'],
  ])('unless there is %s', (_, block) => {
    expect(endOfBlock(block, 0)).toBe(undefined);
  });
});

test('bodies that are needed are checked like others', () => {
  const { skipped, fill } = parseLazily(
    'const f = (a) => { let a; }; function g() { a b }',
    syntax,
  );
  expect(skipped.size).toBe(2);
  for (const start of [...skipped.keys()]) expect(() => fill(start, true)).toThrow(SyntaxError);
});
