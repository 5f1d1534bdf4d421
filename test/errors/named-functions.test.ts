/** Operands of other shapes and dtypes: the error names the method that was called, not an op that it is composed of. */

import { expect, it } from 'vitest';
import { Tensor, tidy, zeros } from '../../src/index.ts';
import { calls } from './calls/calls.ts';
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

/** Methods with two names. */
const nameOf: Readonly<Record<string, string>> = {
  clip_: 'clamp_',
  divide_: 'div_',
  multiply_: 'mul_',
  negative_: 'neg_',
  subtract_: 'sub_',
  trueDivide_: 'div_',
};

/** Returns the arguments with another tensor in one place; undefined if there is none. */
function argumentsWith(text: string, at: number, other: (x: Tensor) => Tensor) {
  const args = [...argumentsOf(text)];
  const given = args[at];
  if (!(given instanceof Tensor)) return undefined;
  args[at] = other(given);
  return args;
}

it('every method that works in place names itself', async () => {
  const wrong = new Set<string>();
  let named = 0;
  for (const call of calls.methods.filter(({ name }) => name.endsWith('_'))) {
    const name = call.name.slice(1);
    const count = tidy(() => argumentsOf(call.text).length);
    for (let at = 0; at < count; at++) {
      for (const other of others) {
        const args = argumentsWith(call.text, at, other);
        if (!args) continue;
        try {
          await call.run(args);
        } catch (error) {
          const said = (error as Error).message.split(':')[0]!;
          if (said === (nameOf[name] ?? name)) named++;
          else wrong.add(`${name}: ${said}`);
        }
      }
    }
  }
  expect([...wrong]).toEqual([]);
  expect(named).toBeGreaterThan(300);
});
