/** Loops whose iterations the host counts: unrolled, or kept as loops on request. */

import { describe, expect, it } from 'vitest';
import { stack, type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';

function power(turns: number) {
  return (x: Tensor) => {
    const seen: Tensor[] = [];
    let h = x;
    for (let i = 0; i < turns; i++) {
      h = h.mul(0.9).add(i);
      seen.push(h);
    }
    return [h, stack(seen)];
  };
}

function opsOf(turns: number, unrollLimit: number): number {
  const fn = power(turns);
  const graph = toStatic(fn, { fullGraph: true, unrollLimit });
  const results = [fn, graph].map((run) =>
    tidy(() => {
      const x = tensor([1, 2]).requiresGrad_();
      const [h, all] = run(x) as [Tensor, Tensor];
      h.sum().add(all.sum()).backward();
      return [h, all, x.grad!].map((each) => [...each.dataSync()]);
    }),
  );
  expect(results[1]).toEqual(results[0]);
  return graph.programs()[0]!.stages!.forward.ops.length;
}

describe('unrollLimit', () => {
  it('keeps a loop with more iterations: the program is as long for any number of them', () => {
    expect(opsOf(40, 8)).toBe(opsOf(9, 8));
    expect(opsOf(8, 8)).toBeGreaterThan(opsOf(9, 8));
  });

  it('of 0 keeps every loop', () => {
    expect(opsOf(2, 0)).toBe(opsOf(50, 0));
  });

  it('is a number of iterations', () => {
    expect(() => toStatic(() => 1, { fullGraph: true, unrollLimit: -1 })).toThrow(/unrollLimit/);
  });
});
