import { numberCalls } from '../../../runtime/ops/numbers/number-calls.ts';
import { randomState } from '../../../runtime/random/seed.ts';
import {
  dropout,
  memory,
  noGrad,
  rand,
  seed,
  stack,
  Tensor,
  tensor,
  tidy,
} from '../../../src/index.ts';
import { functionText, outerNames, Steps, Table, Tags } from './programs.ts';
import type { Node } from './tree.ts';

export type Fn = (x: Tensor, buffer: Tensor, rows: Tensor, w: Tensor) => unknown;

/** What the text of a program takes from around it. */
export const scope = { stack, rand, dropout, noGrad, Table, Steps, Tags };

export function functionOf(nodes: readonly Node[]): Fn {
  const text = `'use strict'; return ${functionText(nodes)}`;
  return new Function(...outerNames, text)(...outerNames.map((name) => scope[name])) as Fn;
}

function* tensorsIn(value: unknown): Generator<Tensor> {
  if (value instanceof Tensor) yield value;
  else if (value && typeof value === 'object') {
    for (const each of Object.values(value)) yield* tensorsIn(each);
  }
}

/** To the last bit; JSON knows neither -0 nor NaN. */
function exactly(value: unknown): unknown {
  if (value instanceof Tensor)
    return [value.dtype, value.shape.join(), ...value.dataSync()].map(exactly);
  if (Array.isArray(value)) return value.map(exactly);
  if (value && typeof value === 'object') return exactly(Object.entries(value));
  if (typeof value !== 'number') return value;
  return Object.is(value, -0) ? '-0' : String(value);
}

const lines: unknown[][] = [];

/** One function for all runs: a program knows it. */
const noteLine = (...line: unknown[]): void => {
  lines.push(line);
};

function withLines<T>(body: () => T): T {
  const { log } = console;
  console.log = noteLine;
  lines.length = 0;
  try {
    return body();
  } finally {
    console.log = log;
  }
}

/** Who calls for the numbers of a run: the language, or programs and their entries. */
const callers = {
  eager: [Math, 'random', Date, 'now'],
  captured: [numberCalls, 'Math.random', numberCalls, 'Date.now'],
} as const;

/** Inside `body` the calls return the same numbers each time. */
function withNumbers<T>(caller: keyof typeof callers, body: () => T): T {
  const [random, randomName, clock, clockName] = callers[caller];
  const natives = [Reflect.get(random, randomName), Reflect.get(clock, clockName)];
  let [state, time] = [17, 1000];
  Reflect.set(random, randomName, () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  });
  Reflect.set(clock, clockName, () => time++);
  try {
    return body();
  } finally {
    Reflect.set(random, randomName, natives[0]);
    Reflect.set(clock, clockName, natives[1]);
  }
}

/**
 * The value or error, the gradients, what was written, the lines of the console, and how many random numbers
 * were drawn.
 */
export function outcome(
  fn: Fn,
  values: readonly number[],
  caller: keyof typeof callers = 'eager',
): string {
  seed(7);
  return tidy(() => {
    const x = tensor(values).requiresGrad_();
    const buffer = tensor([0.6, -1.1]);
    const rows = tensor([0.6, 1.1, -0.9, 0, 2.3, -0.7], { shape: [3, 2] }).requiresGrad_();
    const w = tensor([0.4, -1.3]).requiresGrad_();
    const given = [x, rows, w];
    try {
      const value = withNumbers(caller, () => withLines(() => fn(x, buffer, rows, w)));
      const [first, ...others] = [...tensorsIn(value)].filter((each) => each.requiresGrad);
      if (first) others.reduce((sum, each) => sum.add(each.sum()), first.sum()).backward();
      const gradients = given.map((each) => each.grad);
      return JSON.stringify(
        [value, gradients, buffer, w, lines, randomState().offset].map(exactly),
      );
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return JSON.stringify([error.name, error.message, ...[buffer, w, lines].map(exactly)]);
    } finally {
      for (const each of given) each.grad?.dispose();
    }
  });
}

/** Bytes that are in use. */
export const allocated = (): number => memory.stats('cpu').allocated;
