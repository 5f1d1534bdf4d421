/** Functions of this package are parsed one by one: as if their whole modules had been parsed. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { analyzeScript } from '../../src/1-capture/script/analyze-script.ts';
import { type FunctionFacts, isNeverReassigned } from '../../src/1-capture/script/binding.ts';
import { functionNames } from '../../src/1-capture/script/function-names.ts';
import { scriptSyntax } from '../../src/1-capture/script/parse-script.ts';
import { endOfBlock } from '../../src/vm/syntax/end-of-block.ts';
import { parse } from '../../src/vm/syntax/parse.ts';
import { parseLazily } from '../../src/vm/syntax/parse-lazily.ts';

const syntax = scriptSyntax('module');

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
  return JSON.stringify({ node, kind, strict, usesThis, usesSuper, variables, sets, name });
}

const runtime = join(import.meta.dirname, '../../runtime');
const modules = ['nn', 'optim', 'functional', 'control-flow', 'onnx'].flatMap((folder) =>
  readdirSync(join(runtime, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file)),
);

/** As the build embeds it (`build/own-code.ts`). */
const published = (file: string): string =>
  transformSync(readFileSync(join(runtime, file), 'utf8'), {
    loader: 'ts',
    minifyWhitespace: true,
    legalComments: 'none',
    target: 'es2022',
  }).code;

test('each function of a module, by itself, as in the whole module', () => {
  const counts = { functions: 0, characters: 0, skipped: 0 };
  for (const file of modules) {
    const code = published(file);
    const whole = parse(code, syntax);
    const [expected, names] = [analyzeScript(whole).functions, functionNames(whole)];
    const lazy = parseLazily(code, syntax);
    const heads = analyzeScript(lazy.ast);
    const kinds = [...heads.program.bindings.values()].map(({ kind }) => kind);
    expect([file, kinds.includes('let') || kinds.includes('var')]).toEqual([file, false]);
    counts.characters += code.length;
    const namesOfHeads = functionNames(lazy.ast);
    for (const head of [...heads.functions]) {
      const { node, kind } = head;
      if (kind === 'constructor') continue;
      if (lazy.fill(node.start, node.end)) counts.skipped += node.body.end - node.body.start;
      const inModule = expected.find((facts) => facts.node.start === node.start)!;
      expect(described(namesOfHeads, heads.withBody(head))).toBe(described(names, inModule));
      counts.functions++;
    }
  }
  expect(counts.functions).toBeGreaterThan(300);
  // What is in bodies is not parsed before it is needed.
  expect(counts.skipped).toBeGreaterThan(0.4 * counts.characters);
});

describe('a body is skipped up to its brace', () => {
  test.each([
    ['strings', `{ a("}", '}\\'}', "\\"}") }`],
    ['templates', `{ \`}\${{ b: \`}\${"}"}\` }}$}\\\`}\` }`],
    ['comments', '{ /* } */ a // }\n }'],
    ['blocks and objects', '{ if (a) { b({ c: {} }) } else { } }'],
  ])('%s', (_, block) => {
    expect(endOfBlock(`x${block}} after`, 1)).toBe(1 + block.length);
  });

  test.each([
    ['a slash, which may begin a regular expression', '{ a = /}/ }'],
    ['a string that has no end', '{ " }'],
    ['a template that has no end', `{ \`\${ } }`],
    ['no brace', '{ a'],
  ])('unless there is %s', (_, block) => {
    expect(endOfBlock(block, 0)).toBe(undefined);
  });
});

test('bodies that are needed are checked like others', () => {
  const { ast, fill } = parseLazily('const f = (a) => { let a; }; function g() { a b }', syntax);
  const [f, g] = analyzeScript(ast).functions.map(({ node }) => node) as [
    FunctionFacts['node'],
    FunctionFacts['node'],
  ];
  expect(() => fill(f.start, f.end)).toThrow(SyntaxError);
  expect(() => fill(g.start, g.end)).toThrow(SyntaxError);
});
