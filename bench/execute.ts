/**
 * The cost of executing bytecode relative to native execution, and the cost of lowering. Ratios within one run, of
 * the shortest of several rounds each.
 */

import { parse } from 'acorn';
import { isLowerRefusal, lowerFunction, lowerScript } from '../src/2-lower/lower.ts';
import type { Code, SourceText } from '../src/vm/bytecode/code.ts';
import { activate } from '../src/vm/frames/activation.ts';
import { machines } from '../src/vm/machine/machine.ts';

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

/** Milliseconds of processor time: wall time would include other processes. */
function time(run: () => unknown): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Returns the shortest of many interleaved rounds, so that other load affects all equally. */
function shortest(rounds: number, ...runs: (() => unknown)[]): number[] {
  const best = runs.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < rounds; round++) {
    for (const [i, run] of runs.entries()) best[i] = Math.min(best[i]!, time(run));
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
  const interpreterFor = machines({ executor: 'interpreter' });
  const fewer = Math.ceil(count / 10);
  const byMachine = (n: number) => machineFor(closure.code)(activate(closure, undefined, [n]));
  const byInterpreter = (n: number) =>
    interpreterFor(closure.code)(activate(closure, undefined, [n]));
  // After a single run, the engine has no type feedback for the function's first lines.
  for (let i = 0; i < 100; i++) for (const call of [byMachine, byInterpreter, native]) call(20);
  const calls = [() => byMachine(count), () => byInterpreter(fewer), () => native(count)];
  const [machine, part, base] = shortest(15, ...calls) as [number, number, number];
  const interpreter = part * (count / fewer);
  console.log(
    `${name}: machine ${(machine / base).toFixed(2)}× native, interpreter ${(interpreter / base).toFixed(0)}×`,
  );
}

const line = (i: number): string =>
  `  const v${i} = a.map((x) => x * ${i}).filter((x) => x > b) ?? [v${i - 1}];\n`;
const hundred = `(function (a, b) {\n  const v0 = 1;\n${Array.from({ length: 98 }, (_, i) => line(i + 1)).join('')}  return v98;\n})`;
const parsed = parse(hundred, { ecmaVersion: 'latest' });
const lowerings = [() => lowerScript(parsed, sourceOf(hundred)), () => lower(hundred)];
shortest(60, ...lowerings);
const [lowering, both] = shortest(30, ...lowerings) as [number, number];
console.log(
  `100 lines with 196 closures: parsed and lowered in ${both.toFixed(2)} ms, lowered alone in ${lowering.toFixed(2)} ms`,
);
