/** Operands of other shapes and dtypes: the error names the function that was called, not an op that it is composed of. */

import { expect, it } from 'vitest';
import * as library from '../../src/index.ts';
import { OutOfMemoryError, Tensor, tidy, zeros } from '../../src/index.ts';
import { type Call, calls } from './calls/calls.ts';
import { argumentsOf } from './calls/world.ts';

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
  ({ shape }) => zeros(shape, { dtype: 'bool' }),
  ({ shape }) => zeros(shape, { dtype: 'int32' }),
  ({ shape }) => zeros(shape),
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
  subtract_: 'sub_',
  swapaxes: 'transpose',
  triangularSolve: 'solveTriangular',
  trueDivide_: 'div_',
  vsplit: 'tensorSplit',
};

/**
 * Functions whose errors name an op: those that captured code traces into, `summary`, which runs a model, and
 * `variance`, which is `var` as a method.
 */
const namingOps = [
  ...['affineGrid', 'col2im', 'conv3d', 'ctcLoss', 'dropout1d', 'dropout2d', 'dropout3d'],
  ...['embeddingBag', 'pdist', 'summary', 'variance', 'convTranspose3d', 'multilabelMarginLoss'],
  ...['maxUnpool1d', 'maxUnpool2d', 'maxUnpool3d', 'hessian', 'hvp', 'jacobian', 'jvp', 'vjp'],
].sort();

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

/** Returns the functions whose errors name another one, and how many errors name the function itself. */
async function namesIn(all: readonly Call[]): Promise<{ wrong: string[]; named: number }> {
  const wrong = new Set<string>();
  let named = 0;
  for (const call of all) {
    const name = call.name.replace('.', '');
    const count = tidy(() => argumentsOf(call.text).length);
    for (let at = 0; at < count; at++) {
      for (const other of others) {
        const args = argumentsWith(call.text, at, other);
        if (!args) continue;
        try {
          await call.run(args);
        } catch (error) {
          if (error instanceof OutOfMemoryError) continue;
          const said = (error as Error).message.split(/[:,]/)[0]!;
          if (namesOf(name).includes(said)) named++;
          else wrong.add(name);
        }
      }
    }
  }
  return { wrong: [...wrong].sort(), named };
}

it('every exported function names itself', async () => {
  const { wrong, named } = await namesIn(calls.functions);
  expect(wrong).toEqual(namingOps);
  expect(named).toBeGreaterThan(calls.functions.length);
});

it('every method that works in place names itself', async () => {
  const { wrong, named } = await namesIn(calls.methods.filter(({ name }) => name.endsWith('_')));
  expect(wrong).toEqual([]);
  expect(named).toBeGreaterThan(300);
});
