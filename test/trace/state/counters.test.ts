/** Counts that go up with every call: two traces, whatever the first values were. */

import { describe, expect, it } from 'vitest';
import {
  dropout,
  load,
  nn,
  optim,
  save,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

const calls = 40;

const once = { calls, minGraphSize: 1 } as const;

function expectTwoTraces({ stats }: ReturnType<typeof expectSameAsEager>): void {
  expect(stats.fallbacks).toEqual([]);
  expect(stats.breaks).toEqual([]);
  expect(stats.translations).toBeLessThanOrEqual(2);
  expect(stats.plans).toBeLessThanOrEqual(2);
}

describe('trace/counters', () => {
  for (const first of [0, 1, -1, 5]) {
    it(`an argument that begins at ${first}`, () => {
      const observed = expectSameAsEager(
        () => ({
          fn: (x: Tensor, ids: Tensor, k: number) => [x.mul(k), ids.add(k), x.select(0, k + 1)],
          args: (call) => [weights([48]), tensor(new Int32Array([1, 2])), first + call],
        }),
        once,
      );
      expectTwoTraces(observed);
    });
  }

  it('a variable of the module, counted inside: ids.add(pos++)', () => {
    const observed = expectSameAsEager(() => {
      let pos = 0;
      return {
        fn: (ids: Tensor) => ids.add(pos++),
        args: () => [tensor(new Int32Array([1, 2]))],
        state: () => pos,
      };
    }, once);
    expectTwoTraces(observed);
  });

  it('a cache that is written at the next place, and read up to it by a mask', () => {
    const observed = expectSameAsEager(() => {
      const state = { cache: zeros([calls, 3]), pos: 0 };
      return {
        fn: (row: Tensor) => {
          state.cache.select(0, state.pos).copy_(row);
          state.pos += 1;
          const behind = tensor(Array.from({ length: calls }, (_, i) => i)).lt(state.pos);
          return state.cache.mul(behind.to('float32').unsqueeze(1)).sum(0);
        },
        args: (call) => [values([3], call)],
        state: () => state,
      };
    }, once);
    expectTwoTraces(observed);
  });

  it('a schedule and Adam: one step of training for all steps', () => {
    const observed = expectSameAsEager(() => {
      const weight = weights([4, 3], 1);
      const optimizer = new optim.Adam([weight], { lr: 0.01 });
      const scheduler = new optim.StepLR(optimizer, 7, 0.5);
      return {
        fn: (x: Tensor) => {
          optimizer.zeroGrad();
          const loss = x.matmul(weight).exp().mean();
          loss.backward();
          optimizer.step();
          return loss.detach();
        },
        args: (call) => {
          if (call > 0) scheduler.step();
          return [values([2, 4], call)];
        },
        state: () => weight,
      };
    }, once);
    expect(observed.stats.fallbacks).toEqual([]);
    expect(observed.stats.translations).toBeLessThanOrEqual(3);
  });

  it('a schedule of dropout, and of the temperature', () => {
    const layer = new nn.Linear(3, 3);
    const step = toStatic((x: Tensor, p: number, t: number) => {
      return dropout(layer.forward(x), p).div(t).sum();
    });
    const eager = (x: Tensor, p: number, t: number) => dropout(layer.forward(x), p).div(t).sum();
    for (let call = 0; call < 20; call++) {
      tidy(() => {
        const given = [values([5, 3], call), 0.1 + call / 40, 2 - call / 20] as const;
        seed(call);
        const expected = eager(...given).itemSync();
        seed(call);
        expect(step(...given).itemSync()).toBe(expected);
      });
    }
    expect(step.stats()).toMatchObject({ translations: 2, plans: 2, fallbacks: [] });
  });

  it('in branches of the graph', () => {
    const observed = expectSameAsEager(
      () => ({
        fn: (x: Tensor, k: number) => {
          const row = x.select(0, k);
          if (row.sum().itemSync() > 0) return x.narrow(0, k, 2).mul(k);
          return x.narrow(0, k + 1, 2).add(k);
        },
        args: (call) => [weights([calls + 4, 3], 7), call],
      }),
      { ...once, fullGraph: true },
    );
    expectTwoTraces(observed);
  });

  it('a number that decides a shape, in a program for these sizes alone', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor, k: number) => {
          const part = x.narrow(0, 0, k).mul(2);
          // How many numbers were drawn is a value of the program: it holds for its own sizes.
          return part.sum().itemSync() > 100 ? dropout(part, 0.5).sum() : part.sum();
        },
        args: (call) => [weights([12]), [2, 3, 4, 5, 3, 2, 6][call]],
      }),
      { calls: 7, fullGraph: true },
    );
  });

  it('a saved program computes the place, and holds it against the tensor', async () => {
    const fn = toStatic((x: Tensor, k: number) => x.select(0, k).mul(k));
    const x = values([8, 2]);
    for (const k of [3, 4, 5]) fn(x, k);
    const program = (await load(await save(fn))) as unknown as typeof fn;
    for (const k of [2, 7, 6]) {
      expect(program(x, k).dataSync()).toEqual(x.select(0, k).mul(k).dataSync());
    }
    expect(() => program(x, 8)).toThrow();
  });
});

describe('what a WeakMap counts for each object', () => {
  it('is symbolic once one count has changed: later objects need no traces for their first counts', () => {
    const { stats } = expectSameAsEager(
      () => {
        const visits = new WeakMap<object, number>();
        const nodes = Array.from({ length: 6 }, (_, i) => ({ scale: i + 2 }));
        return {
          fn: (x: Tensor, pair: readonly { scale: number }[]) => {
            let sum = x;
            for (const node of pair) {
              visits.set(node, (visits.get(node) ?? 0) + 1);
              sum = sum.add(x.mul(node.scale));
            }
            return [sum, ...pair.map((node) => x.mul(visits.get(node)!))];
          },
          args: (call) => [weights([4]), [nodes[call % 6]!, nodes[(call + 1) % 6]!]],
        };
      },
      { calls: 30, minGraphSize: 1 },
    );
    expect(stats.fallbacks).toEqual([]);
    expect(stats.translations).toBeLessThanOrEqual(3);
  });
});
