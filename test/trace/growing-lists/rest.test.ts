/** Captured functions with a rest parameter that are called with another number of tensors each time. */

import { describe, expect, it } from 'vitest';
import { cat, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, type World, weights } from '../same-as-eager.ts';
import { row } from './pushed.ts';

/** A function that is called with one more tensor each time. */
function called(fn: (x: Tensor, ...rest: Tensor[]) => unknown, given = row): () => World {
  const args = (call: number) => [
    row(call),
    ...Array.from({ length: call + 1 }, (_, i) => given(10 * call + i)),
  ];
  return () => ({ fn, args });
}

const programs: Record<string, () => World> = {
  'all joined': called((...all) => cat(all).sum(0)),
  'joined, with a tensor before them': called((x, ...rest) => cat(rest).mul(x)),
  'a loop': called((x, ...rest) => {
    let sum = x;
    for (const each of rest) sum = sum.mul(0.5).add(each);
    return sum;
  }),
  'a loop over the index, backwards, and their number': called((x, ...rest) => {
    let sum = x;
    for (let i = rest.length - 1; i >= 0; i--) sum = sum.add(rest[i]!.mul(i));
    return sum.div(rest.length);
  }),
  'with another one appended': called((x, ...rest) => {
    rest.push(x);
    return cat(rest.map((each) => each.tanh())).sum(0);
  }),
  'passed on': called((x, ...rest) => joined(x, ...rest)),
  'with gradients': called(
    (x, ...rest) => {
      let sum = x;
      for (const each of rest) sum = sum.mul(each).add(cat(rest).sum());
      return sum.sum();
    },
    (salt) => weights([1, 3], salt),
  ),
};

const joined = (x: Tensor, ...rest: Tensor[]) => cat([...rest, x]).sum(0);

describe('a rest parameter of the captured function', () => {
  for (const [name, make] of Object.entries(programs)) {
    for (const fullGraph of [false, true]) {
      it(`has one translation for any number of tensors: ${name}${fullGraph ? ' with fullGraph' : ''}`, () => {
        const { stats } = expectSameAsEager(make, { calls: 12, check: 1, fullGraph });
        expect(stats.translations).toBeLessThanOrEqual(3);
        expect(stats).toMatchObject({ fallbacks: [], breaks: [] });
        expect(stats.kernels.eager).toBe(0);
      });
    }
  }

  it('is the same array wherever the call returns or changes it', () => {
    const fn = (x: Tensor, ...rest: Tensor[]) => {
      const sum = cat(rest).sum();
      rest[0] = x;
      return [rest, sum, rest];
    };
    expectSameAsEager(called(fn as never), { calls: 6 });
    expectSameAsEager(called(((...all: Tensor[]) => [all, cat(all)]) as never), { calls: 6 });
  });

  it('may contain the same tensor twice, and other values', () => {
    const fn = (x: Tensor, ...rest: unknown[]) => {
      let sum = x;
      for (const each of rest) sum = sum.mul(each as Tensor);
      return sum;
    };
    const args = (call: number) => [
      row(call),
      ...Array.from({ length: call }, (_, i) => (call % 3 === 2 ? i + 1 : row(i))),
      ...(call > 3 ? new Array<Tensor>(2).fill(row(7)) : []),
    ];
    expectSameAsEager(() => ({ fn, args }), { calls: 9 });
  });
});
