/** `tensor(list)` of numbers that a loop of the program has collected, such as rewards or states of an episode. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, stack, type Tensor, tensor, toStatic } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

/** No iteration, one, two (twice), three, four. */
const starts = [
  [60, 70],
  [30, 40],
  [15, 14],
  [5, 9],
  [5, 2],
  [14, 15],
];
const inputs = starts.map((start) => () => [tensor(start).requiresGrad_()]);
const some = inputs.slice(1);
const noneLeft = {
  never: [['no iteration', 'y.sum()', 'an empty array says nothing about its elements']],
} as const;

/** What a loop with a data-dependent end collects. */
function grow<T>(x: Tensor, element: (y: Tensor) => T): T[] {
  const all: T[] = [];
  let y = x;
  while (y.sum().itemSync() < 100) {
    y = y.mul(2);
    all.push(element(y));
  }
  return all;
}
const sum = (y: Tensor) => y.sum().itemSync();

describe('a tensor of an array that grew in a loop', () => {
  it.each<[string, (x: Tensor) => unknown]>([
    ['numbers', (x) => tensor(grow(x, sum))],
    ['numbers in float64', (x) => tensor(grow(x, sum), { dtype: 'float64' })],
    [
      'numbers in half precision',
      (x) =>
        tensor(
          grow(x, (y) => sum(y) / 3),
          { dtype: 'float16' },
        ),
    ],
    ['what is computed from it', (x) => tensor(grow(x, sum)).mul(x.sum()).square().sum()],
  ])('%s', (_, fn) => {
    sameAsEager(fn, inputs);
  });

  it.each<[string, (x: Tensor) => unknown]>([
    ['booleans', (x) => tensor(grow(x, (y) => sum(y) % 3 > 1))],
    ['rows', (x) => tensor(grow(x, (y) => [sum(y), y.amax().itemSync(), 1]))],
  ])('%s', (_, fn) => {
    sameAsEager(fn, some, noneLeft);
  });

  it('of discounted returns, with a policy gradient', () => {
    const episode = (x: Tensor) => {
      const [scores, rewards] = [[] as Tensor[], [] as number[]];
      let y = x;
      while (y.sum().itemSync() < 100) {
        scores.push(y.logSoftmax(0).select(0, 0));
        y = y.mul(2);
        rewards.push(y.sum().itemSync() / 50);
      }
      const returns: number[] = [];
      let total = 0;
      for (let i = rewards.length - 1; i >= 0; i--) {
        total = rewards[i]! + 0.9 * total;
        returns.unshift(total);
      }
      const loss = stack(scores).mul(tensor(returns)).sum().neg();
      loss.backward();
      return [loss.detach(), returns];
    };
    sameAsEager(episode, some, {
      never: [
        ['no iteration', 'y.sum()', 'stack() needs an element'],
        ['no iteration', '0; i--)', 'stack() needs an element'],
        ['second branch', 'rewards[i]!', 'the index is in range'],
        ['no iteration', 'returns.unshift(', 'one is given'],
      ],
    });
  });

  it.each<[string, (x: Tensor) => unknown, RegExp]>([
    ['integers', (x) => tensor(grow(x, sum), { dtype: 'int32' }), /data-dependent length of int32/],
    ['a leaf', (x) => tensor(grow(x, sum), { requiresGrad: true }), /length with requiresGrad/],
    ['objects', (x) => tensor(grow(x, (y) => ({ a: sum(y) })) as never), /one by one/],
  ])('%s are rejected', (_, fn, message) => {
    const [make] = some;
    expect(() => toStatic(fn, { fullGraph: true })(make!()[0]!)).toThrow(FullGraphError);
    expect(() => toStatic(fn, { fullGraph: true })(make!()[0]!)).toThrow(message);
  });
});
