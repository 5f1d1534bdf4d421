/** A backward of gradients frees what it passes, and nothing else of the run that it came from. */

import { expect, it } from 'vitest';
import { grad, memory, type Tensor, tidy, toStatic } from '../../src/index.ts';
import { weights } from '../trace/same-as-eager.ts';

const shared = (x: Tensor, w: Tensor, v: Tensor): Tensor[] => {
  const h = x.mul(w).exp();
  return [h.sin(), h.cos(), x.mul(v).exp(), h.mul(2).add(v.exp())];
};

const later: Readonly<
  Record<string, (results: readonly Tensor[], w: Tensor, v: Tensor) => unknown>
> = {
  'a result on a path of its own': ([, , c], _, v) => grad(c!.sum(), [v]),
  'a result that shares a freed op': ([, b], w) => grad(b!.sum(), [w]),
  'the same result': ([a], w) => grad(a!.sum(), [w]),
  'the part of a result that was not passed': ([, , , d], _, v) => grad(d!.sum(), [v]),
  'the part of a result that was passed': ([, , , d], w) => grad(d!.sum(), [w]),
  'all of a result, part of which was passed': ([, , , d]) => d!.sum().backward(),
};

it.each(Object.keys(later))('%s: as eagerly', (name) => {
  const seen = (fn: typeof shared) => {
    const before = memory.stats('cpu').allocated;
    const found = Array.from({ length: 2 }, () =>
      tidy(() => {
        const [x, w, v] = [weights([3], 1), weights([3], 2), weights([3], 3)];
        const results = fn(x, w, v);
        const [first] = grad(results[0]!.sum(), [w], { createGraph: true });
        first!.sum().backward();
        let outcome: unknown;
        try {
          const gradients = later[name]!(results, w, v) as Tensor[] | undefined;
          outcome = gradients?.map((each) => each.tolist());
        } catch (error) {
          outcome = String(error).split('\n')[0];
        }
        const left = [x, w, v].map(({ grad }) => grad?.tolist());
        for (const { grad } of [x, w, v]) grad?.dispose();
        return [outcome, left];
      }),
    );
    return [found, memory.stats('cpu').allocated - before];
  };
  expect(seen(toStatic(shared))).toEqual(seen(shared));
});
