/** Sizes that differ from call to call without another trace. */

import { describe, expect, it } from 'vitest';
import {
  breakGraph,
  cat,
  crossEntropy,
  memory,
  nn,
  noGrad,
  ones,
  relu,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { expectSameAsEager, values, weights } from './same-as-eager.ts';

const sizes = [4, 5, 6, 3, 9, 5, 2];

describe('trace/symbolic-sizes', () => {
  const w = () => weights([3, 2], 7);
  const functions: Readonly<Record<string, (x: Tensor, w: Tensor) => unknown>> = {
    'pointwise with broadcasting': (x, w) => x.mul(2).add(w.sum(1)).relu(),
    'a product and a reduction': (x, w) => x.matmul(w).exp().mean(0),
    'a mean, which divides by the size': (x, w) => x.matmul(w).mean(),
    'softmax and loss': (x, w) => x.matmul(w).logSoftmax(1).mean().neg(),
    'arithmetic on the size': (x) => x.mul(x.shape[0]!).add(x.shape[0]! / 2 - 1),
    'the size as a result': (x) => [x.add(1), x.shape[0], x.shape[0]! * 2, [x.numel()]],
    'reshape to an expression': (x) => x.reshape([x.shape[0]! * 3, 1]).reshape([-1]),
    'sizes of results': (x, w) => {
      const y = x.matmul(w);
      const z = cat([y, y], 0);
      return z.reshape([z.shape[1]!, z.shape[0]!]).mul(z.shape[0]! + y.numel());
    },
    'expand and slices': (x) =>
      x
        .narrow(0, 1, x.shape[0]! - 1)
        .sum(0, { keepDim: true })
        .expand([x.shape[0]!, 3]),
    'cat with zeros of the same size': (x) => cat([x, zeros([x.shape[0]!, 2])], 1),
    'a branch on a size that all have in common': (x) => (x.shape[0]! < 100 ? x.mul(2) : x.mul(3)),
    'destructured shapes': (x) => {
      const [n, d] = x.shape as unknown as [number, number];
      return x
        .reshape([d, n])
        .transpose(0, 1)
        .contiguous()
        .reshape([n * d]);
    },
  };

  for (const [name, fn] of Object.entries(functions)) {
    it(`${name}: two translations for all sizes, gradients too`, () => {
      const { translations, stats } = expectSameAsEager(
        () => {
          const weight = w();
          return {
            fn: (x: Tensor) => fn(x, weight),
            args: (call) => [weights([sizes[call]!, 3], call)],
            state: () => weight,
          };
        },
        { calls: sizes.length },
      );
      expect(stats.breaks).toEqual([]);
      expect(translations).toEqual([1, 2, 2, 2, 2, 2, 2]);
    });
  }

  it('0 and 1 are sizes of their own', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, y: Tensor) => x.mul(2).add(y),
        args: (call) => [weights([[4, 5, 1, 0, 7, 1, 0][call]!, 3]), values([1, 3])],
      }),
      { calls: 7 },
    );
    expect(translations).toEqual([1, 2, 3, 4, 4, 4, 4]);
  });

  it('a relation that comes out otherwise is another entry', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor) => (x.shape[0]! % 2 === 0 ? x.mul(2) : x.mul(3)),
        args: (call) => [values([[4, 6, 8, 5, 7, 10][call]!])],
      }),
      { calls: 6 },
    );
    expect(translations).toEqual([1, 2, 2, 3, 3, 3]);
  });

  it('two sizes that must be equal are: an error is raised where eager execution raises it', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, y: Tensor) => x.add(y).mul(2),
        args: (call) => {
          const [a, b] = [
            [4, 4],
            [5, 5],
            [6, 6],
            [6, 5],
            [7, 7],
          ][call]!;
          return [values([a!]), values([b!])];
        },
      }),
      { calls: 5 },
    );
    expect(translations[2]).toBe(2);
    expect(translations[4]).toBeLessThanOrEqual(3);
  });

  it('a size that is looped over or indexed with is guarded', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor, list: number[]) => {
          let y = x;
          for (let i = 0; i < x.shape[0]!; i++) y = y.add(i);
          return y.mul(list[x.shape[0]!]!);
        },
        args: (call) => [values([[2, 3, 4, 3, 2][call]!]), [1, 2, 3, 4, 5]],
      }),
      { calls: 5 },
    );
  });

  it('the number of results may differ', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => x.split(2, 0).map((part) => part.sum()),
        args: (call) => [values([[4, 6, 8, 5, 4][call]!, 2])],
      }),
      { calls: 5 },
    );
  });

  it('a strided tensor keeps its sizes', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => x.mul(2).sum(0),
        args: (call) => [values([3, [4, 5, 6, 5][call]!]).transpose(0, 1)],
      }),
      { calls: 4 },
    );
  });

  it('sizes after a break are symbolic as well', () => {
    const { translations, breaks } = expectSameAsEager(
      () => {
        const log: unknown[] = [];
        return {
          fn: (x: Tensor) => {
            const y = x.mul(2);
            breakGraph();
            log.push(y.shape[0]);
            return y.add(y.shape[0]!);
          },
          args: (call) => [values([sizes[call]!])],
          state: () => log,
        };
      },
      { calls: sizes.length },
    );
    expect(breaks).toBe(1);
    expect(translations[3]).toBe(4);
    expect(translations[6]).toBe(4);
  });

  it('with dynamic: false each size has an entry, with true the first one is symbolic already', () => {
    const counts = ([false, true] as const).map((dynamic) => {
      const f = toStatic((x: Tensor) => x.mul(2).sum(), { dynamic });
      for (const n of [2, 3, 4, 5]) f(values([n]));
      return f.stats().translations;
    });
    expect(counts).toEqual([4, 1]);
  });

  it('memory is planned for each size: peaks are those of a program made for it, to the byte', () => {
    const sizes = [16, 40, 100, 7, 40];
    const peaks = (dynamic: 'auto' | false) => {
      seed(3);
      const model = new nn.Sequential(new nn.Linear(8, 32), new nn.ReLU(), new nn.Linear(32, 4));
      const parameters = [...model.parameters()];
      const f = toStatic((x: Tensor, y: Tensor) => crossEntropy(model.forward(x), y), { dynamic });
      const measured = sizes.map((n) => {
        const [x, y] = [ones([n, 8]), tensor(new Int32Array(n))];
        const { allocated } = memory.stats('cpu');
        memory.reset('cpu');
        const loss = f(x, y);
        const forward = memory.stats('cpu').peakAllocated - allocated;
        const kept = memory.stats('cpu').allocated - allocated;
        memory.reset('cpu');
        loss.backward();
        const backward = memory.stats('cpu').peakAllocated - allocated;
        loss.dispose();
        for (const parameter of parameters) {
          parameter.grad!.dispose();
          parameter.grad = null;
        }
        expect(memory.stats('cpu').allocated).toBe(allocated);
        x.dispose();
        y.dispose();
        return [forward, kept, backward];
      });
      return { measured, stats: f.stats(), parts: f.programs() };
    };
    const [resized, fixed] = [peaks('auto'), peaks(false)];
    expect(resized.measured).toEqual(fixed.measured);
    // Of the fixed ones each plan is there to compare with: 16, 40, 100 and 7.
    fixed.parts.forEach(({ stages }, i) => {
      const { peakBytes, savedBytes, outputBytes } = stages!.planned.forward.predicted;
      expect(fixed.measured[i]!.slice(0, 2)).toEqual([peakBytes, savedBytes + outputBytes]);
    });
    expect(resized.stats).toMatchObject({ translations: 2, sizes: 3, graphs: 2 });
    expect(fixed.stats).toMatchObject({ translations: 4, sizes: 0, graphs: 4 });
  });

  it('100 sizes in turn are planned once each', () => {
    const weight = weights([3, 2], 1);
    const step = toStatic((x: Tensor) => {
      const loss = x.matmul(weight).mul(2).sum();
      loss.backward();
      return loss;
    });
    for (let round = 0; round < 3; round++) {
      for (let size = 2; size < 102; size++) tidy(() => void step(values([size, 3])));
    }
    expect(step.stats()).toMatchObject({ translations: 2, fallbacks: [] });
    expect(step.stats().plans).toBeLessThanOrEqual(101);
  });

  it('a training step with batches of any size', () => {
    const run = (capture: boolean) => {
      seed(4);
      const model = new nn.Sequential(new nn.Linear(6, 8), new nn.ReLU(), new nn.Linear(8, 3));
      const parameters = [...model.parameters()];
      const step = (x: Tensor, y: Tensor) => {
        const loss = crossEntropy(relu(model.forward(x)), y);
        loss.backward();
        noGrad(() => {
          for (const p of parameters) {
            p.add_(p.grad!, -0.1);
            p.grad = null;
          }
        });
        return loss;
      };
      const f = capture ? toStatic(step) : step;
      const losses = [8, 5, 3, 8, 6, 2].map((n) =>
        f(values([n, 6], n), tensor(new Int32Array(n))).itemSync(),
      );
      return {
        losses,
        end: [...model.parameters()].map((p) => [...p.dataSync()]),
        stats: 'stats' in f ? (f as { stats(): unknown }).stats() : null,
      };
    };
    const [eager, captured] = [run(false), run(true)];
    expect(captured.losses).toEqual(eager.losses);
    expect(captured.end).toEqual(eager.end);
    expect(captured.stats).toMatchObject({ translations: 2, breaks: [] });
  });
});
