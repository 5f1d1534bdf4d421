/** A plan says whether a run may need more than its predicted peak, and why; a file says so of the plans in it. */

import { expect, it } from 'vitest';
import type { PredictedMemory } from '../../runtime/program/plan.ts';
import {
  type LoadedProgram,
  load,
  save,
  stack,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

const until = (x: Tensor, bound: number, step: (x: Tensor) => Tensor): Tensor => {
  let y = x;
  while (y.sum().itemSync() < bound) y = step(y);
  return y;
};

const bodies: Readonly<Record<string, readonly [(x: Tensor) => unknown, readonly string[]]>> = {
  'straight code': [(x) => x.mul(2).exp().sum(), []],
  'a branch': [(x) => (x.sum().itemSync() > 0 ? x.mul(2) : x.exp()), []],
  'a loop that keeps nothing': [(x) => until(x.detach(), 100, (y) => y.mul(2)), []],
  'a loop that keeps values for backward': [(x) => until(x, 100, (y) => y.exp()), ['iterations']],
  'a loop that fills a list': [
    (x) => {
      const all: Tensor[] = [];
      for (let y = x.detach(); y.sum().itemSync() < 100; y = y.mul(2)) all.push(y);
      return all;
    },
    ['iterations'],
  ],
  'a call with data-dependent shapes': [
    (x) => {
      const all = [x.detach()];
      while (all.at(-1)!.sum().itemSync() < 100) all.push(all.at(-1)!.mul(2));
      return stack(all).sum();
    },
    ['iterations', 'shapes'],
  ],
  'many branches': [
    (x) => {
      const all = Array.from({ length: 14 }, (_, i) =>
        x.sum().itemSync() > i
          ? x.mul(i)
          : x
              .unsqueeze(0)
              .expand([i + 2, 3])
              .sin()
              .sum([0]),
      );
      return all.map((each, i) => each.add(all[13 - i]!));
    },
    ['paths'],
  ],
};

it.each(Object.entries(bodies))('%s', async (_, [body, limits]) => {
  const f = toStatic(body, { fullGraph: true });
  const x = tensor([1, 2, 3]).requiresGrad_();
  tidy(() => f(x));
  void f.ready();
  const { forward, backward } = f.programs()[0]!.stages!.planned;
  expect(forward.predicted.mayExceed).toEqual(limits);
  if (backward) expect(backward.plan.predicted.mayExceed).toEqual(limits);
  const told = limits.includes('paths') || limits.includes('shapes');
  expect(f.explain().includes('a run may need more')).toBe(told);
  if (limits.includes('shapes')) {
    await expect(save(f)).rejects.toThrow("can't be saved");
  } else {
    const loaded = (await load(await save(f))) as LoadedProgram;
    tidy(() => loaded(x));
    expect(fields(loaded.predicted()!)).toEqual(fields(forward.predicted));
  }
  x.dispose();
});

/** The bytes are computed when they are read. */
const fields = (predicted: PredictedMemory) => ({ ...predicted, mayExceed: predicted.mayExceed });
