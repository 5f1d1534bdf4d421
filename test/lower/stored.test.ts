/** Functions as modules store them: read back, they are what lowering gives. */

import { deepStrictEqual } from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { analyzeScript } from '../../src/1-capture/script/analyze-script.ts';
import type { OuterBinding } from '../../src/1-capture/script/binding.ts';
import { functionNames } from '../../src/1-capture/script/function-names.ts';
import { parseScript } from '../../src/1-capture/script/parse-script.ts';
import { isRefusal } from '../../src/1-capture/script/refusal.ts';
import { type FunctionOutline, outlineOf } from '../../src/1-capture/stored/function-outline.ts';
import { readOutline } from '../../src/1-capture/stored/read-outline.ts';
import { writeOutline } from '../../src/1-capture/stored/write-outline.ts';
import { isLowerRefusal, lowerFunction } from '../../src/2-lower/lower.ts';
import type { Code } from '../../src/vm/bytecode/code.ts';
import { IntegerReader, printInteger } from '../../src/vm/stored/digits.ts';
import { layouts } from '../../src/vm/stored/layouts.ts';
import { readCode } from '../../src/vm/stored/read-code.ts';
import { StoredReader } from '../../src/vm/stored/stored-reader.ts';
import { StoredWriter } from '../../src/vm/stored/stored-writer.ts';
import { writeCode } from '../../src/vm/stored/write-code.ts';
import { sourceText } from './parse-function.ts';

const root = join(import.meta.dirname, '../..');

function textsIn(path: string): string[] {
  const full = join(root, path);
  if (statSync(full).isDirectory()) {
    return readdirSync(full).flatMap((name) => textsIn(join(path, name)));
  }
  const text = readFileSync(full, 'utf8');
  if (!path.endsWith('.ts')) return [text];
  return [transformSync(text, { loader: 'ts', target: 'es2024' }).code];
}

/** Functions of the language's tests, written as text. */
const examples = textsIn('test/vm/examples').flatMap((text) =>
  [...text.matchAll(/\bfn: *("(?:\\.|[^"\\])*")/g)].map(
    ([, literal]) => `(${JSON.parse(literal!) as string})`,
  ),
);

const unusual = `
  const limits = () => [-0, 0, 57, 58, 65535, 65536, 1e21, 0.1, 2n ** 70n, 'a\\u0000"\\u{1f600}', null, undefined];
  const tagged = (tag) => [tag\`\\u{zz}\${1}\`, tag\`\`, /a\\/b/giu];
  class A { #x = 1; static #y; get #z() { return 1; } m() { return super.m(this.#x, A.#y, #z in this, this.#z = 2); } }
  const made = { async *g(a, [b, ...c] = [], { d, ...e }) { for await (const x of a) yield* x; using f = b; return [c, d, e]; } };
  class B extends A { m(a) { return super[a]; } }
  let counted = 0; function writes(a = counted++) { var b; counted = eval('b'); { let counted; } return arguments[0] = a; }
  function mapped(a, b) { arguments[0] = b; return a; }
`;

/** All that a binding says, without the rest of its scope. */
const plain = ({ scope: { kind, seesEval, aliasesArguments }, ...rest }: OuterBinding) => ({
  ...rest,
  scope: { kind, seesEval, aliasesArguments },
});

const comparable = ({ free, ...outline }: FunctionOutline) => ({
  ...outline,
  free: new Map([...free].map(([name, binding]) => [name, binding && plain(binding)])),
});

/** All fields of a code but its id. */
function fieldsOf(code: Code): Record<string, unknown> {
  const { name, source, span, kind, isAsync, isGenerator, parameterCount, strict } = code;
  const { registerCount, registerNames, outerCells, instructions, regions, spans } = code;
  const inner = code.inner.map(fieldsOf);
  const head = { name, source, span, kind, isAsync, isGenerator, parameterCount, strict };
  const body = { registerCount, registerNames, outerCells, instructions, regions, inner };
  return { ...head, ...body, spans: spans.map(({ start, end }) => ({ start, end })) };
}

function countOpcodes({ instructions, inner }: Code, counts: Map<string, number>): void {
  for (const { op } of instructions) counts.set(op, (counts.get(op) ?? 0) + 1);
  for (const each of inner) countOpcodes(each, counts);
}

describe('functions that are stored', () => {
  const texts = [
    ...['runtime/nn', 'runtime/optim', 'runtime/functional', 'runtime/control-flow'],
    'runtime/distributions',
    ...['test/corpus/functions', 'test/lower/language/fixtures', 'src/3-trace/builtins/polyfills'],
  ].flatMap(textsIn);

  test('read back/to the instruction, with positions and without', () => {
    const opcodes = new Map<string, number>();
    let count = 0;
    for (const text of [...texts, ...examples, unusual]) {
      const ast = parseScript(text, text !== unusual);
      if (isRefusal(ast)) continue;
      const facts = analyzeScript(ast);
      const names = functionNames(ast);
      const source = sourceText(text);
      for (const fn of facts.functions) {
        const outline = outlineOf(fn, facts, names);
        const lower = () => lowerFunction(fn.node, source, fn.kind, fn.strict, 'f', true);
        const code = lower();
        if (isLowerRefusal(code)) continue;
        for (const spans of fn.enclosing ? [true] : [true, false]) {
          const writer = new StoredWriter();
          writeOutline(outline, writer);
          writeCode(code, spans, writer);
          const from = StoredReader.open(writer.finish());
          deepStrictEqual(comparable(readOutline(from)), comparable(outline));
          const lowered = () => (spans ? expect.unreachable() : (lower() as Code));
          deepStrictEqual(fieldsOf(readCode(from, 'f', source, lowered)), fieldsOf(code));
        }
        countOpcodes(code, opcodes);
        count++;
      }
    }
    expect(count).toBeGreaterThan(1500);
    expect(Object.keys(layouts).filter((op) => !opcodes.has(op))).toEqual([]);
  });

  test('numbers/every size', () => {
    const numbers = [0, 1, 57, 58, 59, 86, 87, 1000, 1e5, 2 ** 31, 2 ** 40];
    const text = numbers.map(printInteger).join('');
    const from = new IntegerReader(text, 0);
    expect(numbers.map(() => from.integer())).toEqual(numbers);
    expect(JSON.stringify(text)).toBe(`"${text}"`);
  });
});
