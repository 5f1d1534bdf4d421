/**
 * What executing bytecode costs beside native execution, and what lowering costs. Ratios within one run, of
 * the shortest of several turns each.
 */

import { parse } from 'acorn';
import { isLowerRefusal, lowerFunction, lowerScript } from '../src/2-lower/lower.ts';
import type { Code, SourceText } from '../src/bytecode/code.ts';
import { activate } from '../src/resume/interpreter.ts';
import { machines } from '../src/resume/machine.ts';

const loops: Readonly<Record<string, readonly [text: string, count: number]>> = {
  'integer loop': [
    '(function (n) { let s = 0; for (let i = 0; i < n; i++) { s = (s + i * 3) | 0; if (s & 1) s ^= i; } return s; })',
    3e6,
  ],
  'integer loop in try': [
    '(function (n) { let s = 0; try { for (let i = 0; i < n; i++) { s = (s + i * 3) | 0; if (s & 1) s ^= i; } } catch (e) { return e; } return s; })',
    3e6,
  ],
  'calls of a closure': [
    '(function (n) { const f = (x) => (x * 2) | 0; let s = 0; for (let i = 0; i < n; i++) s = (s + f(i)) | 0; return s; })',
    5e5,
  ],
  'property reads and writes': [
    '(function (n) { const o = { a: 0, b: 1 }; for (let i = 0; i < n; i++) { o.a = (o.a + o.b) | 0; o.b = i; } return o.a; })',
    1e6,
  ],
  'array iteration': [
    '(function (n) { const xs = Array.from({ length: 1000 }, (_, i) => i); let s = 0; for (let r = 0; r < n; r++) for (const x of xs) s += x; return s; })',
    500,
  ],
  generator: [
    '(function (n) { function* g() { for (let i = 0; i < n; i++) yield i; } let s = 0; for (const x of g()) s += x; return s; })',
    1e5,
  ],
};

/** Milliseconds. */
function shortest(turns: number, run: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < turns; i++) {
    // Processor time: the wall clock would count what other processes take.
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

const sourceOf = (text: string): SourceText => ({
  file: 'bench.js',
  text,
  position: () => ({ file: 'bench.js', line: 1, column: 1 }),
  line: () => undefined,
});

function lower(text: string): Code {
  const [statement] = parse(text, { ecmaVersion: 'latest' }).body;
  const node = statement?.type === 'ExpressionStatement' ? statement.expression : undefined;
  if (node?.type !== 'FunctionExpression') throw new Error('a function expression');
  const code = lowerFunction(node, sourceOf(text), 'function', true);
  if (isLowerRefusal(code)) throw new Error(code.explanation);
  return code;
}

const global = globalThis as unknown as Record<string, unknown>;
const scope = {
  has: (name: string) => name in global,
  get: (name: string) => global[name],
  set: () => {},
  reader: (name: string) => () => global[name],
  isConstant: () => false,
};

for (const [name, [text, count]] of Object.entries(loops)) {
  const native = new Function(`"use strict"; return ${text}`)() as (n: number) => unknown;
  const closure = { code: lower(text), scope, cells: [] };
  const run = (executor: 'machine' | 'interpreter', n: number): unknown =>
    machines({ executor })(closure.code)(activate(closure, undefined, [n]));
  if (run('machine', 50) !== native(50) || run('interpreter', 50) !== native(50)) {
    throw new Error(`${name}: the results differ`);
  }
  const machineFor = machines();
  const machine = shortest(7, () =>
    machineFor(closure.code)(activate(closure, undefined, [count])),
  );
  const fewer = Math.ceil(count / 10);
  const interpreter = shortest(7, () => run('interpreter', fewer)) * (count / fewer);
  const base = shortest(7, () => native(count));
  console.log(
    `${name}: machine ${(machine / base).toFixed(2)}× native, interpreter ${(interpreter / base).toFixed(0)}×`,
  );
}

const line = (i: number): string =>
  `  const v${i} = a.map((x) => x * ${i}).filter((x) => x > b) ?? [v${i - 1}];\n`;
const hundred = `(function (a, b) {\n  const v0 = 1;\n${Array.from({ length: 98 }, (_, i) => line(i + 1)).join('')}  return v98;\n})`;
const parsed = parse(hundred, { ecmaVersion: 'latest' });
shortest(60, () => lower(hundred));
const lowering = shortest(30, () => lowerScript(parsed, sourceOf(hundred)));
const both = shortest(30, () => lower(hundred));
console.log(
  `100 lines with 196 closures: parsed and lowered in ${both.toFixed(2)} ms, lowered alone in ${lowering.toFixed(2)} ms`,
);
