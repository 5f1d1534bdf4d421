/** Tensors of data-dependent shape: what is made of grown arrays, and at numbers of the program. */

import { describe, expect, it } from 'vitest';
import { alignedBytes } from '../../../runtime/memory/allocator.ts';
import { predictRun } from '../../../src/7-plan/control/predict-run.ts';
import {
  arange,
  cat,
  dropout,
  memory,
  nn,
  noGrad,
  ones,
  rand,
  randn,
  save,
  stack,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../../src/index.ts';
import type { Never } from '../paths-taken.ts';
import { constant, lengths, type Net, neverEmpty, states } from '../run-shapes.ts';
import { sameAsEager } from '../suite.ts';

describe('what is made of an array of any length', () => {
  it('is reduced, weighed and attended to', () => {
    const f: Net = (x, wx, wh, n, v) => {
      const out = states(x, wx, wh, n);
      const all = stack(out);
      const weights = all.matmul(v).sum(1).softmax(0);
      return weights
        .matmul(all)
        .add(all.mul(v.select(0, 0)).mean())
        .mul(cat(out).square().sum());
    };
    sameAsEager(f, lengths(2, 5, 1, 6), {
      never: [neverEmpty],
    });
  });

  it('goes backward inside the program', () => {
    const f: Net = (x, wx, wh, n, v) => {
      const all = stack(states(x, wx, wh, n));
      const loss = all.mul(v.select(0, 1)).square().mean();
      loss.backward();
      return loss.detach();
    };
    sameAsEager(f, lengths(3, 1, 5), {
      never: [neverEmpty],
    });
  });

  it('has sizes, which are numbers of the program', () => {
    const f: Net = (x, wx, wh, n) => {
      const all = stack(states(x, wx, wh, n));
      const [rows, columns] = all.shape as [number, number];
      const flat = all.reshape([rows * columns]);
      const scaled = rows > 3 ? flat.mul(2) : flat;
      return [
        scaled.sum().div(rows),
        [all.numel(), all.shape.length, all.rank],
        all.narrow(0, 0, rows - 1).sum(0),
        all.select(0, 0),
        all.select(0, rows - 1),
        all.mul(arange(0, rows).unsqueeze(1)).sum(0),
      ];
    };
    sameAsEager(f, lengths(2, 5, 4, 1), {
      never: [neverEmpty],
    });
  });

  it('is a result with any number of rows', () => {
    const f: Net = (x, wx, wh, n) => {
      const all = stack(states(x, wx, wh, n), 1);
      return { all, twice: all.mul(2), turned: all.t(), rows: all.split(2, 0) };
    };
    sameAsEager(f, lengths(2, 5, 1), {
      never: [neverEmpty],
    });
  });

  it('is read by a loop and left by a branch', () => {
    const f: Net = (x, wx, wh, n) => {
      let all = stack(states(x, wx, wh, n));
      if (x.sum().itemSync() < 100) all = cat([all, all.mul(0.5)]);
      else all = all.add(1);
      let q: Tensor = ones([4]).mul(n);
      while (q.sum().itemSync() < 12) {
        const weights = all.matmul(q).softmax(0);
        q = q.mul(1.5).add(weights.matmul(all));
      }
      return [q, all.sum(0)];
    };
    sameAsEager(f, [...lengths(2, 5, 1), constant(9)], {
      exact: false,
      never: [neverEmpty],
    });
  });

  it('of two lengths', () => {
    const f: Net = (x, wx, wh, n) => {
      const all = states(x, wx, wh, n);
      const positive: Tensor[] = [];
      for (const each of all) if (each.sum().itemSync() > 0) positive.push(each.mul(2));
      positive.push(ones([4]));
      const [a, b] = [stack(all), stack(positive)];
      return [a.matmul(b.t()).sum(), all[0], stack([...all, ...positive]).mean(0)];
    };
    sameAsEager(f, lengths(2, 6, 4, 1), {
      exact: false,
      never: [
        neverEmpty,
        ['no iteration', 'const each of all', 'the iteration itself asks whether there is one'],
        ['one iteration', 'const each of all', 'stack() of nothing throws'],
        ['second branch', 'all[0]', 'stack() of nothing throws'],
      ],
    });
  });

  it('goes through layers', () => {
    const layers = [new nn.LayerNorm([4]), new nn.Linear(4, 2)] as const;
    for (const layer of layers)
      for (const weight of layer.parameters()) weight.requiresGrad_(false);
    const f: Net = (x, wx, wh, n) => {
      const [norm, linear] = layers;
      return linear
        .forward(norm.forward(stack(states(x, wx, wh, n))))
        .relu()
        .mean(0);
    };
    sameAsEager(f, lengths(2, 5, 3, 1), {
      never: [neverEmpty],
    });
  });

  it('of an array without elements the error of eager execution', () => {
    const f: Net = (x, wx, wh, n) => stack(states(x, wx, wh, n)).sum();
    const graph = toStatic(f, { fullGraph: true });
    tidy(() => {
      const given = lengths(2)[0]!();
      graph(...given);
      given[3] = tensor([0]);
      expect(() => graph(...given)).toThrow(/stack: no operands|stack/);
    });
  });

  it('has a peak that grows with the iterations by what they keep, and nothing of it stays', () => {
    const f: Net = (x, wx, wh, n) => stack(states(x, wx, wh, n)).mean();
    const graph = toStatic(f, { fullGraph: true });
    const start = memory.stats('cpu').allocated;
    const peaks = [2, 3, 4, 5, 6].map((n): number =>
      tidy(() => {
        graph(...lengths(n)[0]!());
        return graph.programs().at(-1)!.record.peakBytes ?? 0;
      }),
    );
    const growth = peaks.slice(1).map((peak, i) => peak - peaks[i]!);
    expect(new Set(growth).size).toBeLessThanOrEqual(1);
    expect(memory.stats('cpu').allocated).toBe(start);
  });

  it('as a result: the gradient that its caller brings is predicted, too', () => {
    const f: Net = (x, wx, wh, n) => {
      const all = stack(states(x, wx, wh, n));
      return all.mul(all.mul(2)).exp();
    };
    const graph = toStatic(f, { fullGraph: true });
    for (const n of [2, 5, 6]) {
      tidy(() => {
        const result = graph(...lengths(n)[0]!()) as Tensor;
        const { planned, decisions, donated } = graph.programs().at(-1)!.record;
        const loss = result.mul(ones([n, 4])).sum();
        let before = 0;
        result.registerHook((gradient) => {
          memory.reset();
          before = memory.stats('cpu').allocated - alignedBytes(gradient.numel() * 4);
        });
        loss.backward();
        const { backwardPeak } = predictRun(planned!, decisions.list, donated);
        expect(memory.stats('cpu').peakAllocated - before).toBe(backwardPeak);
      });
    }
  });
});

describe('a tensor that is larger after every iteration', () => {
  it('is attended to while it grows', () => {
    const f: Net = (x, _wx, _wh, n) => {
      let seen = x.narrow(0, 0, 1);
      let h = x.select(0, 0);
      const length = n.itemSync();
      for (let t = 1; t < length; t++) {
        const weights = seen.matmul(h).softmax(0);
        h = weights.matmul(seen).add(x.select(0, t)).tanh();
        seen = cat([seen, h.unsqueeze(0)]);
      }
      return [seen, seen.sum(0).mul(h)];
    };
    sameAsEager(f, lengths(3, 1, 5, 2), { exact: false });
  });

  it('in two dimensions', () => {
    const f: Net = (x, _wx, _wh, n) => {
      let y = x.narrow(0, 0, 1);
      for (let t = n.itemSync(); t > 0; t--) {
        y = cat([y, y.mul(0.5)], 1);
        if (y.sum().itemSync() > 0) y = cat([y, y.add(1)]);
      }
      return y.mean();
    };
    sameAsEager(f, [...lengths(2, 0, 3, 1), constant(-1)], { exact: false });
  });
});

describe('a number of the program that decides a shape', () => {
  it('in narrow, zeros, arange and reshape', () => {
    const f: Net = (x, _wx, _wh, n) => {
      const length = n.itemSync();
      const rows = x.narrow(0, 0, length);
      const mask = arange(0, 6).lt(length);
      return [rows.mean(0), zeros([length, 2]).add(1), rows.reshape([length * 3]).max(), mask];
    };
    sameAsEager(f, lengths(2, 5, 1, 6));
  });
});

describe('the rows of such a tensor', () => {
  // The iteration that meets the end is one, too.
  const rowsThereAre: Never[] = [
    ['no iteration', 'const row of', 'stack() of nothing throws'],
    ['one iteration', 'const row of', 'stack() of nothing throws'],
  ];
  const mapped: Never[] = [
    ['no iteration', 'rows.map', 'stack() of nothing throws'],
    ['second branch', 'rows.map', 'stack() of nothing throws'],
  ];

  it('are an array that loops go through', () => {
    const f: Net = (x, wx, wh, n, v) => {
      const all = stack(states(x, wx, wh, n));
      let sum: Tensor = zeros([4]);
      for (const row of all) sum = sum.mul(0.5).add(row.mul(v.select(0, 0)));
      const rows = all.mul(2).unbind(0);
      return [sum, rows.length, stack(rows.map((row) => row.exp())).mean(0)];
    };
    sameAsEager(f, lengths(2, 5, 1), { never: [neverEmpty, ...rowsThereAre, ...mapped] });
  });

  it('bring gradients, each or none', () => {
    const f: Net = (x, wx, wh, n) => {
      let sum: Tensor = zeros([4]);
      for (const row of stack(states(x, wx, wh, n)).unbind(0)) {
        if (row.sum().itemSync() > 0) sum = sum.add(row.square());
      }
      return sum;
    };
    sameAsEager(f, lengths(2, 5, 1), { never: [neverEmpty, ...rowsThereAre] });
  });
});

describe('random numbers of such a shape', () => {
  it('are those of eager execution, as many as the shape says', () => {
    const f: Net = (x, wx, wh, n, v) => {
      const before = dropout(v, 0.5, true);
      const all = dropout(stack(states(x, wx, wh, n)), 0.5, true);
      let sum = dropout(all.matmul(v).tanh(), 0.25, true)
        .sum(0)
        .add(rand([4]));
      let left = n.itemSync();
      while (left > 0) {
        sum = sum.add(dropout(all, 0.5, true).mean(0));
        left--;
      }
      return [sum.add(randn([n.itemSync(), 4]).sum(0)), before.mul(rand([4]))];
    };
    sameAsEager(f, lengths(2, 5, 1), {
      never: [neverEmpty, ['no iteration', '0) {', 'there is a row']],
    });
  });

  it('are kept for a backward in the program', () => {
    const f: Net = (x, wx, wh, n, v) => {
      const all = dropout(stack(states(x, wx, wh, n)).mul(v.select(0, 1)), 0.5, true);
      const loss = all.mul(all).mean();
      loss.backward();
      return loss.detach().add(rand([]));
    };
    sameAsEager(f, lengths(3, 1, 5), { never: [neverEmpty] });
  });
});

describe('what a tensor of such a shape refuses', () => {
  it.each([
    [
      'writes to another tensor that change its shape',
      (all: Tensor) => ones([2]).add_(all),
      /add_ .* data-dependent shape writes in place/,
    ],
    [
      'writes under one of two names',
      (all: Tensor) => {
        const other = all.sum().itemSync() > 0 ? all : all.mul(2);
        return all.add_(1).add(other);
      },
      /add_ .* may have views or other names/,
    ],
    [
      'writes on one path',
      (all: Tensor) => {
        if (all.sum().itemSync() > 0) all.add_(1);
        return all;
      },
      /add_ .* may have views or other names/,
    ],
    [
      'writes to what has a view',
      (all: Tensor) => {
        const view = all.t();
        all.add_(1);
        return view;
      },
      /add_ .* may have views or other names/,
    ],
    [
      'writes without gradients to what has one',
      (all: Tensor) => noGrad(() => all.add_(1)),
      /a value that a gradient needs/,
    ],
    [
      'writes to what a gradient reads',
      (all: Tensor) => {
        const exp = all.mul(0.01).exp();
        return exp.add_(1);
      },
      /a value that a gradient needs/,
    ],
    [
      'tensors of several shapes',
      (all: Tensor) => all.split(2, 0)[0]!,
      /a different number of tensors/,
    ],
    [
      'writes to its rows',
      (all: Tensor) => {
        for (const row of all.detach()) row.add_(1);
        return all;
      },
      /rows were taken at a data-dependent index/,
    ],
  ] as const)('%s', (_name, use, reason) => {
    const f = (x: Tensor) => {
      const all = [x];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all.push(y);
      }
      return use(stack(all));
    };
    const graph = toStatic(f, { fullGraph: true });
    expect(() => tidy(() => graph(tensor([1, 2]).requiresGrad_()))).toThrow(reason);
  });

  it('a file, which has no compiler', async () => {
    const f: Net = (x, wx, wh, n) => stack(states(x, wx, wh, n)).mean();
    const graph = toStatic(f, { fullGraph: true });
    const given = lengths(2)[0]!();
    tidy(() => graph(...given));
    await expect((async () => save(graph, '/tmp/never.tostatic'))()).rejects.toThrow(
      /stack, mean \(.*shapes\.test\.ts.*\) of data-dependent shape[\s\S]*remedy: .*mask/,
    );
  });
});
