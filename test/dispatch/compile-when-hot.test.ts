/** With `compile: 'hot'`, calls are eager until compiling costs a tenth of what they took; nothing else differs. */

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  breakGraph,
  FullGraphError,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { expectSameAsEager } from '../trace/same-as-eager.ts';
import { trainingWorld } from './training-world.ts';

/** Milliseconds that each call takes by the clock. */
let each = 0;

beforeEach(() => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += each;
    return now;
  });
});
afterEach(() => vi.restoreAllMocks());

const sumOf = (x: Tensor) => x.mul(2).sum();

it('results, writes, gradients and random numbers are those of eager calls, before and after', () => {
  each = 300;
  const { stats, translations } = expectSameAsEager(() => trainingWorld(), {
    compile: 'hot',
    calls: 8,
    around: (body, call) => {
      seed(call);
      return body();
    },
  });
  expect(stats).toMatchObject({ calls: 8, translations: 1, graphs: 1 });
  expect(stats.coldCalls).toBeGreaterThan(2);
  expect(stats.coldCalls).toBeLessThan(7);
  expect(translations.filter((count) => count === 0)).toHaveLength(stats.coldCalls!);
});

it.each([0.5, 7, 40])('compiles once the calls of %d ms took ten times as long', (milliseconds) => {
  each = milliseconds;
  const f = toStatic(sumOf, { compile: 'hot' });
  const x = tensor([1, 2]);
  const most = 1e5;
  let calls = 0;
  while (f.stats().translations === 0 && calls < most) {
    f(x).dispose();
    calls++;
  }
  const { coldCalls } = f.stats();
  expect(coldCalls).toBe(calls - 1);
  // Two kernels: 101 ms.
  expect(coldCalls).toBe(Math.ceil(1010 / milliseconds));
  expect(f.explain()).toContain(`${coldCalls} calls before it was compiled`);
});

it('what cannot be compiled is told when it would be, and a call that throws counts', () => {
  each = 2000;
  const f = toStatic(
    (x: Tensor, fails: boolean) => {
      if (fails) throw new RangeError('of the user');
      breakGraph();
      return x;
    },
    { compile: 'hot', fullGraph: true },
  );
  const x = tensor(1);
  expect(() => f(x, true)).toThrow(RangeError);
  expect(f.stats()).toMatchObject({ coldCalls: 1, translations: 0 });
  expect(() => f(x, false)).toThrow(FullGraphError);
});

it('a function that returns before its work is done, and one that is warmed up, are compiled at once', async () => {
  each = 0;
  const x = tensor([1, 2]);
  const later = toStatic(async (x: Tensor) => x.mul(2), { compile: 'hot' });
  await later(x);
  const parts = toStatic(
    function* (x: Tensor) {
      yield x.mul(2);
    },
    { compile: 'hot' },
  );
  expect([...parts(x)]).toHaveLength(1);
  const warm = toStatic(sumOf, { compile: 'hot' });
  await toStatic.warmup(warm, x);
  warm(x);
  for (const f of [later, parts, warm]) {
    expect(f.stats().coldCalls).toBeUndefined();
    expect(f.stats().translations).toBeGreaterThan(0);
  }
});
