/** Functions from seeds, as they are and as one program. One that differs is made smaller before it is shown. */

import { describe, expect, it } from 'vitest';
import { memory, Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { functionText, type Node, programFrom, smaller } from '../generated/control-programs.ts';
import { expectPredicted } from './suite.ts';

const inputs = [
  [1, 2],
  [-1.5, 0.5],
  [3, -4],
];
/** Few, since each is compiled with all its branches; more of them: `TOSTATIC_TEST_PROGRAMS=5000`. */
const count = Number(process.env.TOSTATIC_TEST_PROGRAMS ?? 30);
const perTest = 10;

function* tensorsIn(value: unknown): Generator<Tensor> {
  if (value instanceof Tensor) yield value;
  else if (value && typeof value === 'object') {
    for (const each of Object.values(value)) yield* tensorsIn(each);
  }
}

/** Sums of gradients come in another order where a value is read in a loop and outside. */
function rounded(value: unknown): unknown {
  if (value instanceof Tensor)
    return [value.dtype, value.shape.join(), ...value.dataSync()].map(rounded);
  if (Array.isArray(value)) return value.map(rounded);
  if (value && typeof value === 'object') return rounded(Object.entries(value));
  if (typeof value !== 'number') return value;
  return Math.abs(value) < 1e-6 ? '0' : value.toPrecision(4);
}

type Fn = (x: Tensor) => unknown;

function outcome(fn: Fn, values: readonly number[]): unknown {
  return tidy(() => {
    const x = tensor(values).requiresGrad_();
    const value = fn(x);
    const [first, ...others] = [...tensorsIn(value)].filter((each) => each.requiresGrad);
    if (first) others.reduce((sum, each) => sum.add(each.sum()), first.sum()).backward();
    const found = JSON.stringify([rounded(value), rounded(x.grad)]);
    x.grad?.dispose();
    return found;
  });
}

/** What is wrong with the function as one program; null: nothing. */
function problem(nodes: readonly Node[]): string | null {
  const make = () => new Function(`'use strict'; return ${functionText(nodes)}`)() as Fn;
  const eager = make();
  const graph = toStatic(make(), { fullGraph: true });
  const before = memory.stats('cpu').allocated;
  try {
    for (const values of [...inputs, inputs[0]!]) {
      const [expected, found] = [eager, graph].map((fn) => outcome(fn, values));
      if (found !== expected) return `of ${values}: ${expected} became ${found}`;
      expectPredicted(graph);
    }
  } catch (error) {
    return String(error);
  }
  const { translations, graphs, breaks } = graph.stats();
  if (translations > 1 || graphs > 1 || breaks.length > 0) return 'it is several programs';
  const leaked = memory.stats('cpu').allocated - before;
  return leaked === 0 ? null : `${leaked} bytes are left`;
}

function shrunk(nodes: readonly Node[]): readonly Node[] {
  for (const less of smaller(nodes)) if (problem(less) !== null) return shrunk(less);
  return nodes;
}

describe('functions from seeds are one program that does what they do', () => {
  const first = Array.from({ length: Math.ceil(count / perTest) }, (_, i) => i * perTest);
  it.each(first)('from %i on', { timeout: 120_000 }, (from) => {
    for (let seed = from; seed < from + perTest; seed++) {
      const nodes = programFrom(seed);
      if (problem(nodes) === null) continue;
      const least = shrunk(nodes);
      expect.fail(`seed ${seed}: ${problem(least)}\n${functionText(least)}`);
    }
  });
});
