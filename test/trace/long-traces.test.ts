/** Functions of any length are one program, in time that grows with their length; `traceLimit` ends a trace earlier. */

import { describe, expect, it } from 'vitest';
import { nn, optim, seed, type Tensor, toStatic } from '../../src/index.ts';
import { expectSameAsEager, values } from './same-as-eager.ts';

class Block extends nn.Module {
  readonly inner = new nn.Linear(2, 2);
  readonly norm = new nn.LayerNorm([2]);

  override forward(x: Tensor): Tensor {
    return x.add(this.inner.forward(this.norm.forward(x)).relu());
  }
}

/** One training step of so many blocks. */
function step(blocks: number): (x: Tensor) => Tensor {
  seed(1);
  const list = Array.from({ length: blocks }, () => new Block());
  const optimizer = new optim.AdamW(
    list.flatMap((block) => [...block.parameters()]),
    { lr: 0.01 },
  );
  return (x) => {
    let y = x;
    for (const block of list) y = block.forward(y);
    const loss = y.square().mean();
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
}

describe('long functions', () => {
  it('are one program, however many instructions are traced', { timeout: 120_000 }, () => {
    const counted = (x: Tensor) => {
      let sum = 0;
      for (let i = 0; i < 60_000; i++) sum += i % 3;
      return x.mul(sum);
    };
    const graph = toStatic(counted, { fullGraph: true });
    expect(graph(values([2])).toArraySync()).toEqual(counted(values([2])).toArraySync());
    expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
  });

  it('end where traceLimit says, and go on behind it', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          let y = x;
          for (let i = 0; i < 50; i++) y = y.add(i);
          return y;
        },
        args: () => [values([2])],
      }),
      { traceLimit: 100 },
    );
    expect(stats.breaks[0]).toMatchObject({ reason: 'trace-length' });
    expect(() => toStatic(() => 1, { traceLimit: 0 })).toThrow(/traceLimit/);
  });

  it('are translated in time that grows with their length', { timeout: 120_000 }, () => {
    const least = (blocks: number) => {
      const times = Array.from({ length: 2 }, () => {
        const graph = toStatic(step(blocks), { strict: true });
        const x = values([4, 2]);
        const start = performance.now();
        graph(x);
        return performance.now() - start;
      });
      return Math.min(...times);
    };
    least(2);
    const [few, many] = [least(10), least(80)];
    // Eight times the blocks; a quadratic part would take sixty-four.
    expect(many / few).toBeLessThan(24);
  });
});
