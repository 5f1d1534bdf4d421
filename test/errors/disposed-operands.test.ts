/** A disposed tensor in the place of any operand: the error names the function that was called, not an op that it is composed of. */

import { expect, it } from 'vitest';
import * as library from '../../src/index.ts';
import { DisposedError, nn, ones, Tensor, tidy } from '../../src/index.ts';
import { type Call, calls } from './calls/calls.ts';
import { argumentsOf } from './calls/world.ts';

/** Functions by operand that read no data of it, or leave that to a function of the user's. */
const readsNothing =
  /^(asTensor 0|isTensor 0|keep 0|keepLoop 0|optionalSpec 0|\w+Like 0|contiguous 0|atleast[12]d 0|checkpoint 1|cond 3|whileLoop 2|scan 1)$/;
/** What takes functions reads the operand itself: a part of it, a decision, or the gradient of a result. */
const readsInParts = /^(map 1|scan 2|cond 0|backward(Async)? 1|summary 1)$/;

/** Other names of functions, with arguments of another form. */
const formsOf: Readonly<Record<string, string>> = {
  adjoint: 'transpose',
  amax: 'max',
  amin: 'min',
  broadcastTo: 'expand',
  deg2rad: 'mul',
  dsplit: 'tensorSplit',
  hsplit: 'tensorSplit',
  isneginf: 'eq',
  isposinf: 'eq',
  rad2deg: 'mul',
  ravel: 'flatten',
  swapaxes: 'transpose',
  triangularSolve: 'solveTriangular',
  vsplit: 'tensorSplit',
};

const functionsByName = library as unknown as Readonly<Record<string, unknown>>;

/** All names of the function. */
function namesOf(name: string): readonly string[] {
  const fn = functionsByName[name];
  const aliases = Object.keys(functionsByName).filter((other) => functionsByName[other] === fn);
  return [...aliases, formsOf[name] ?? name];
}

const operandOf = (given: unknown): unknown =>
  Array.isArray(given) ? given.find((each) => each instanceof Tensor) : given;

/** What the error says first; undefined if the argument has no tensor, null without an error. */
async function saidOf(call: Call, at: number): Promise<string | null | undefined> {
  const args = argumentsOf(call.text);
  const operand = operandOf(args[at]);
  if (!(operand instanceof Tensor)) return undefined;
  operand.dispose();
  try {
    await call.run(args);
    return null;
  } catch (error) {
    return error instanceof DisposedError ? error.message.split(':')[0]! : String(error);
  }
}

it('every exported function names itself', async () => {
  const others: string[] = [];
  let named = 0;
  for (const call of calls.functions) {
    const count = tidy(() => argumentsOf(call.text).length);
    for (let at = 0; at < count; at++) {
      const what = `${call.name} ${at}`;
      if (readsInParts.test(what)) continue;
      const said = await saidOf(call, at);
      if (said === undefined || (said === null && readsNothing.test(what))) continue;
      if (said !== null && namesOf(call.name).includes(said)) named++;
      else others.push(`${what}: ${said}`);
    }
  }
  expect(others).toEqual([]);
  expect(named).toBeGreaterThan(calls.functions.length);
});

it.each(['weight', 'bias'] as const)('a layer with a disposed %s names its function', (name) => {
  const model = new nn.Linear(2, 3);
  model[name]!.dispose();
  expect(() => model.forward(ones([1, 2]))).toThrow(/^linear: the tensor has been disposed/);
});
