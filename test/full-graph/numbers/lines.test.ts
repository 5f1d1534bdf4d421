/** Lines that a program prints: what their arguments may be, and their order. */

import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  FullGraphError,
  type LoadedProgram,
  load,
  save,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';

const x = (...values: number[]) => tensor(values);
const sum = (x: Tensor) => x.sum().itemSync();
const outer = [1, 'a', [2, null]];

const { log } = console;
afterEach(() => {
  vi.restoreAllMocks();
  console.log = log;
});

let lines: string[] = [];

beforeEach(() => {
  vi.spyOn(console, 'log').mockImplementation((...args) => void lines.push(inspect(args)));
});

/** Returns the lines of a call, as text that distinguishes -0 and holes. */
function linesOf(fn: (x: Tensor) => unknown, input: Tensor): string[] {
  lines = [];
  tidy(() => fn(input));
  return lines;
}

const kinds = (x: Tensor) => {
  const n = sum(x);
  console.log('constants', Infinity, -Infinity, NaN, -0, undefined, null, true, 1.5);
  console.log(x.shape, [n, [Infinity, `n is ${n}`]], { n, in: { a: [undefined], b: {} } }, outer);
  let y = x;
  for (let i = 0; sum(y) < 9; i++) {
    y = y.add(1);
    console.log([i, sum(y)], { at: i });
  }
  console.log({ large: n > 2 }, `${n.toFixed(2).padStart(8)}`);
  return y;
};

it('print constants of every kind, arrays and plain objects', async () => {
  const graph = toStatic(kinds, { fullGraph: true });
  for (const input of [x(1, 2), x(-3, 1), x(1, 2, 4), x(1, 2, 4, 0.5)]) {
    expect(linesOf(graph, input)).toEqual(linesOf(kinds, input));
  }
  expect(graph.stats().graphs).toBe(graph.stats().translations);
});

it('print the same after the program was saved and loaded', async () => {
  const graph = toStatic(kinds, { fullGraph: true });
  const expected = linesOf(graph, x(1, 2));
  const loaded = (await load(await save(graph))) as LoadedProgram;
  expect(linesOf((input) => loaded(input), x(1, 2))).toEqual(expected);
});

it('refuse other values', () => {
  class Own {}
  // biome-ignore lint/suspicious/noSparseArray: a hole prints as one.
  for (const value of [new Own(), new Map(), () => 1, Symbol('a'), 3n, [1, , 2], [[, 1]]]) {
    const fn = (x: Tensor) => {
      console.log(value);
      return x.mul(2);
    };
    const graph = toStatic(fn, { fullGraph: true });
    expect(() => graph(x(1))).toThrow(FullGraphError);
  }
});

it('keep their order where a function of the user replaces that of the console', () => {
  const fn = (x: Tensor) => {
    console.log('first');
    const y = x.mul(2);
    console.log('list', [1, 2], new Set([1]));
    const z = y.add(1);
    console.log('third');
    if (sum(z) > 3) console.log('large', { a: 1 });
    console.log('last');
    return z;
  };
  const captured = toStatic(fn, { capture: 'auto' });
  for (const input of [x(1, 2), x(-3, 1), x(1, 2)]) {
    const found = [fn, captured].map((each) => {
      vi.spyOn(console, 'log').mockRestore();
      console.log = (...args: unknown[]) => void lines.push(args.map(String).join(' '));
      return linesOf(each, input);
    });
    expect(found[1]).toEqual(found[0]);
  }
});
