/** Attributes of every op in a file: what no kernel could read is refused by name, and nothing else is. */

import { expect, it } from 'vitest';
import { load, memory, TostaticError, tensor, tidy } from '../../runtime/index.ts';
import { opTable } from '../../runtime/ops/op-table.ts';
import { attrProblem } from '../../runtime/ops/record/attr-rules.ts';
import type { LoadedProgram } from '../../runtime/save/loaded-program.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import { storedNumbers } from '../../runtime/spec/stored-numbers.ts';
import { attrsInFile, fileWith, type OpCall, opCalls, resultsOf } from './op-samples.ts';

/** Calls that break a rule of their op, though eager execution makes them. */
const broken = new Set<string>();
const told = (call: OpCall): void => {
  const { op, inputs, attrs } = call;
  const metas = [...inputs, ...resultsOf(call)];
  const rank = Math.max(0, ...metas.map(({ shape }) => shape.length));
  const problem = attrProblem(op.attrs ?? {}, attrs, rank);
  const fits = problem === null && (op.fits?.(inputs, attrs) ?? true);
  if (fits !== true) broken.add(`${op.name} ${JSON.stringify(attrs)}: ${JSON.stringify(problem)}`);
};
let inside = false;
const calls = opCalls((call) => {
  if (inside) return;
  inside = true;
  told(call);
  inside = false;
});

/** What stands in the place of an attribute. */
const damages: readonly unknown[] = [
  ...[undefined, null, true, 'x', 'float65', '__proto__', -1, 0.5, 3, 64, 2 ** 31, 2 ** 53, 1e300],
  ...[[], [[]], [-1], [0], [0, 0], [1.5, 2], [7, 7, 7, 7], [2 ** 31, 2 ** 31], ['x'], [null], {}],
  ...[{ number: 'NaN' }, { number: '-Infinity' }, { scalar: 0 }, { undefined: true }],
];

const operands = ({ inputs }: OpCall) =>
  inputs.map(({ shape, dtype }) => {
    const values = new Array<number>(sizeOf(shape)).fill(dtype === 'float32' ? 0.5 : 0);
    return tensor(storedNumbers(values, dtype, 'test'), { shape: [...shape], dtype });
  });

/** 'refused', 'failed' by a named error, or 'ran'. */
async function outcome(call: OpCall, file: Uint8Array): Promise<string> {
  let program: LoadedProgram;
  try {
    program = (await load(file)) as LoadedProgram;
  } catch (error) {
    expect(error).toBeInstanceOf(TostaticError);
    return `refused: ${(error as Error).message}`;
  }
  try {
    tidy(() => void program(...operands(call)));
    return 'ran';
  } catch (error) {
    expect(error).toBeInstanceOf(TostaticError);
    return `failed: ${(error as Error).message}`;
  } finally {
    program.dispose();
  }
}

it('are in eager calls what their ops declare', () => {
  expect([...broken]).toEqual([]);
});

it('are seen of every op', () => {
  const seen = new Set(calls.map(({ op }) => op.name));
  const unseen = [...opTable.values()].filter(({ name }) => !seen.has(name));
  expect(unseen.map(({ name }) => name)).toEqual([]);
});

it('are read from a file as they were written', async () => {
  const before = memory.stats('cpu').allocated;
  for (const call of calls) {
    const file = fileWith(call, resultsOf(call), attrsInFile(call.attrs));
    expect(await outcome(call, file), call.op.name).not.toMatch(/^refused/);
  }
  expect(memory.stats('cpu').allocated).toBe(before);
});

it('are refused where the op could not read them', { timeout: 120_000 }, async () => {
  const before = memory.stats('cpu').allocated;
  let refused = 0;
  for (const call of calls) {
    const results = resultsOf(call);
    const attrs = attrsInFile(call.attrs);
    for (const name of Object.keys(attrs)) {
      for (const damage of damages) {
        const file = fileWith(call, results, { ...attrs, [name]: damage });
        const found = await outcome(call, file);
        if (found.startsWith('refused')) refused++;
        // Where the op declares a rule, what breaks it is said with the attribute.
        expect(found).not.toMatch(/Cannot read|is not a function|is not iterable|Invalid array/);
      }
    }
  }
  expect(refused).toBeGreaterThan(1000);
  expect(memory.stats('cpu').allocated).toBe(before);
});
