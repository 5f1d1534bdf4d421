/** Operands of other shapes and dtypes, and other numbers: the error names the function that was called, not an op that it is composed of. */

import { expect, it } from 'vitest';
import * as functional from '../../runtime/functional/index.ts';
import * as library from '../../src/index.ts';
import { full, OutOfMemoryError, Tensor, tidy, toStatic, zeros } from '../../src/index.ts';
import { type Call, calls } from './calls/calls.ts';
import { argumentsOf } from './calls/world.ts';

const boolean = ({ shape }: Tensor): Tensor => zeros(shape, { dtype: 'bool' });
/** Indices and labels that are out of range. */
const beyond = ({ dtype, shape }: Tensor): Tensor => full(shape, 99, { dtype });

const others: readonly ((x: Tensor) => Tensor)[] = [
  ({ dtype }) => zeros([], { dtype }),
  ({ dtype }) => zeros([7], { dtype }),
  ({ dtype }) => zeros([7, 11], { dtype }),
  ({ dtype }) => zeros([2, 3, 5, 7, 11], { dtype }),
  ({ dtype, shape }) =>
    zeros(
      shape.map((size) => size + 5),
      { dtype },
    ),
  boolean,
  ({ shape }) => zeros(shape, { dtype: 'int32' }),
  ({ shape }) => zeros(shape),
  beyond,
  ({ shape }) => full(shape, -99, { dtype: 'int32' }),
];

/** Other names of functions and methods. */
const formsOf: Readonly<Record<string, string>> = {
  adjoint: 'transpose',
  amax: 'max',
  amin: 'min',
  broadcastTo: 'expand',
  clip_: 'clamp_',
  divide_: 'div_',
  dsplit: 'tensorSplit',
  hsplit: 'tensorSplit',
  multiply_: 'mul_',
  negative_: 'neg_',
  // They share a kernel, whose error names both.
  nllLoss: 'crossEntropy',
  subtract_: 'sub_',
  swapaxes: 'transpose',
  triangularSolve: 'solveTriangular',
  trueDivide_: 'div_',
  variance: 'var',
  vsplit: 'tensorSplit',
};

const functionsByName = library as unknown as Readonly<Record<string, unknown>>;

/** All names of the function. */
function namesOf(name: string): readonly string[] {
  const fn = functionsByName[name];
  const aliases = Object.keys(functionsByName).filter((other) => functionsByName[other] === fn);
  return [...(fn ? aliases : []), formsOf[name] ?? name];
}

/** Returns the arguments with another tensor in one place; undefined if there is none. */
function argumentsWith(text: string, at: number, other: (x: Tensor) => Tensor) {
  const args = [...argumentsOf(text)];
  const given = args[at];
  if (!(given instanceof Tensor)) return undefined;
  args[at] = other(given);
  return args;
}

/** Returns a maker of arguments for each other value in one place: tensors for a tensor, numbers for a number. */
function changesOf(text: string, at: number): (() => unknown[])[] {
  const given = tidy(() => argumentsOf(text)[at]);
  if (given instanceof Tensor) return others.map((other) => () => argumentsWith(text, at, other)!);
  if (typeof given !== 'number') return [];
  return [99, -99, 2.5].map((number) => () => {
    const args = argumentsOf(text);
    args[at] = number;
    return args;
  });
}

/** Returns the functions whose errors name another one, and how many errors name the function itself. */
async function namesIn(all: readonly Call[]): Promise<{ wrong: string[]; named: number }> {
  const wrong = new Set<string>();
  let named = 0;
  for (const call of all) {
    const name = call.name.replace('.', '');
    const count = tidy(() => argumentsOf(call.text).length);
    for (const change of Array.from({ length: count }, (_, at) =>
      changesOf(call.text, at),
    ).flat()) {
      try {
        await call.run(change());
      } catch (error) {
        if (error instanceof OutOfMemoryError) continue;
        const said = (error as Error).message.split(/[:,]/)[0]!;
        if (namesOf(name).includes(said)) named++;
        else wrong.add(name);
      }
    }
  }
  return { wrong: [...wrong].sort(), named };
}

it('every exported function names itself', async () => {
  const { wrong, named } = await namesIn(calls.functions);
  // Its errors are those of the model that it runs.
  expect(wrong).toEqual(['summary']);
  expect(named).toBeGreaterThan(calls.functions.length);
});

it('every method that works in place names itself', async () => {
  const { wrong, named } = await namesIn(calls.methods.filter(({ name }) => name.endsWith('_')));
  expect(wrong).toEqual([]);
  expect(named).toBeGreaterThan(300);
});

/** The first line of the error, which is thrown at other places of the user's code. */
function saidBy(body: () => unknown): string | null {
  try {
    body();
    return null;
  } catch (error) {
    return (error as Error).message.split('\n')[0]!;
  }
}

it('every function that captures trace into names itself there as well', () => {
  const traced = calls.functions.filter(({ name }) => name in functional);
  let named = 0;
  for (const call of traced) {
    const run = toStatic((...args: unknown[]) => call.run(args), { fullGraph: true });
    for (const other of [boolean, beyond]) {
      const args = argumentsWith(call.text, 0, other) ?? argumentsWith(call.text, 1, other);
      if (!args) continue;
      const said = saidBy(() => call.run(args));
      if (said) named++;
      expect(saidBy(() => run(...args))).toBe(said);
    }
  }
  expect(named).toBeGreaterThan(10);
});
