import { describe, expect, it } from 'vitest';
import { memory, type Tensor, tidy, toStatic } from '../../../src/index.ts';
import { type World, weights } from '../same-as-eager.ts';
import { describeError } from '../snapshot.ts';

type Results = readonly Tensor[];

/** Backward from results of one call, one after another, as the order says; errors are part of the outcome. */
function expectSame(make: () => World, order: readonly number[]): void {
  const run = (prepare: (fn: World['fn']) => World['fn']) => {
    const world = make();
    const args = world.args!(0) as Tensor[];
    const before = memory.stats('cpu').allocated;
    const outcome = tidy(() => {
      const results = prepare(world.fn)(...args) as Results;
      return order.map((index) => {
        try {
          results[index]!.backward();
          return 'done';
        } catch (error) {
          const { error: type } = describeError(error) as { error: string };
          return type;
        }
      });
    });
    const gradients = args.map(({ grad }) => (grad ? [...grad.dataSync()] : null));
    for (const { grad } of args) grad?.dispose();
    return { outcome, gradients, left: memory.stats('cpu').allocated - before };
  };
  expect(run((fn) => toStatic(fn, { strict: true }))).toEqual(run((fn) => fn));
}

describe.each([3, 1, 0])('trace/several results of one graph, %i elements', (size) => {
  const leaves = () => [weights([size], 1), weights([size], 2)];

  it('two losses without a common op are differentiated one by one', () => {
    const make = () => ({
      fn: (a: Tensor, b: Tensor) => [a.exp().mul(b).sum(), b.sin().mul(a).sum(), a.tanh().sum()],
      args: leaves,
    });
    expectSame(make, [0, 1, 2]);
    expectSame(make, [2, 0]);
    expectSame(make, [1]);
    expectSame(make, [1, 1, 0, 0]);
  });

  it('two losses over one trunk use it up', () => {
    const make = () => ({
      fn: (a: Tensor, b: Tensor) => {
        const trunk = a.mul(b).tanh();
        return [trunk.sum(), trunk.exp().sum(), b.pow(3).sum()];
      },
      args: leaves,
    });
    expectSame(make, [0, 1]);
    expectSame(make, [0, 2, 1]);
    expectSame(make, [2, 1, 0]);
  });

  it('a leaf itself, seen through a sum', () => {
    const make = () => ({
      fn: (a: Tensor, b: Tensor) => [a.add(b).sum(), a.add(1).sum()],
      args: leaves,
    });
    expectSame(make, [0, 1, 1]);
  });
});
