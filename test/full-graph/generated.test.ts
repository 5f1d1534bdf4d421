/**
 * Functions from seeds, as they are, as one program, and as programs that graph control flow and breaks
 * share. One that differs is made smaller before it is shown.
 */

import { describe, expect, it } from 'vitest';
import { memory, type StaticFunction, Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { functionText, type Node, programFrom, smaller } from '../generated/control-programs.ts';
import { expectPredicted } from './suite.ts';

const inputs = [
  [1, 2],
  [-1.5, 0.5],
  [3, -4],
];
/** More of them: `TOSTATIC_TEST_PROGRAMS=5000`, from another seed on: `TOSTATIC_TEST_SEED=300`. */
const count = Number(process.env.TOSTATIC_TEST_PROGRAMS ?? 300);
const start = Number(process.env.TOSTATIC_TEST_SEED ?? 0);
const perTest = 50;

/** Orders take most of the time to plan, and are tested where they are made: one program in so many has one. */
const orderedEvery = 10;
/** The same with breaks, which compile many programs. */
const brokenEvery = 10;
const inOrder = { memory: { order: false, slices: false } } as const;

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

type Fn = (x: Tensor, buffer: Tensor, rows: Tensor) => unknown;

/** The value or error, the gradients, and what was written. */
function outcome(fn: Fn, values: readonly number[]): string {
  return tidy(() => {
    const x = tensor(values).requiresGrad_();
    const buffer = tensor([0.5, -1]);
    const rows = tensor([0.5, 1, -1, 0, 2, -0.5], { shape: [3, 2] }).requiresGrad_();
    const given = [x, rows];
    try {
      const value = fn(x, buffer, rows);
      const [first, ...others] = [...tensorsIn(value)].filter((each) => each.requiresGrad);
      if (first) others.reduce((sum, each) => sum.add(each.sum()), first.sum()).backward();
      const gradients = given.map((each) => each.grad);
      return JSON.stringify([value, gradients, buffer].map(rounded));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return JSON.stringify([error.name, error.message, rounded(buffer)]);
    } finally {
      for (const each of given) each.grad?.dispose();
    }
  });
}

const make = (nodes: readonly Node[]) =>
  new Function(`'use strict'; return ${functionText(nodes)}`)() as Fn;

/** What is wrong with the function under these options; null: nothing. */
function problem(nodes: readonly Node[], options: object, isOne: boolean): string | null {
  const eager = make(nodes);
  const graph = toStatic(make(nodes), { ...options, scope: {} });
  const before = memory.stats('cpu').allocated;
  try {
    for (const values of [...inputs, inputs[0]!]) {
      const [expected, found] = [eager, graph].map((fn) => outcome(fn, values));
      if (found !== expected) return `of ${values}: ${expected} became ${found}`;
    }
    if (isOne) expectPredicted(graph);
  } catch (error) {
    return String(error);
  }
  const { translations, graphs, breaks } = (graph as StaticFunction<Fn>).stats();
  // A throw that doesn't depend on the data is left to the function itself.
  const broken = breaks.some(({ reason }) => reason !== 'throw');
  if (isOne && (translations > 1 || graphs > 1 || broken)) {
    return 'it is several programs';
  }
  const leaked = memory.stats('cpu').allocated - before;
  return leaked === 0 ? null : `${leaked} bytes are left`;
}

type Check = (nodes: readonly Node[]) => string | null;

function checksOf(seed: number): [string, Check][] {
  const planned = seed % orderedEvery === 0 ? {} : inOrder;
  const whole: Check = (nodes) => problem(nodes, { ...planned, fullGraph: true }, true);
  const broken: Check = (nodes) =>
    problem(nodes, { ...inOrder, capture: 'auto', strict: true }, false);
  return [
    ['one program', whole],
    ...(seed % brokenEvery === 0 ? ([['auto', broken]] as [string, Check][]) : []),
  ];
}

function shrunk(nodes: readonly Node[], check: Check): readonly Node[] {
  for (const less of smaller(nodes)) if (check(less) !== null) return shrunk(less, check);
  return nodes;
}

describe('functions from seeds do as programs what they do', () => {
  const first = Array.from({ length: Math.ceil(count / perTest) }, (_, i) => start + i * perTest);
  it.each(first)('from %i on', { timeout: 240_000 }, (from) => {
    for (let seed = from; seed < from + perTest; seed++) {
      const nodes = programFrom(seed);
      for (const [name, check] of checksOf(seed)) {
        if (check(nodes) === null) continue;
        const least = shrunk(nodes, check);
        expect.fail(`seed ${seed}, ${name}: ${check(least)}\n${functionText(least)}`);
      }
    }
  });
});
