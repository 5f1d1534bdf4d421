/** Conformance 90–99: what goes in and comes out of one program. */

import { describe, expect, it } from 'vitest';
import { printProgram } from '../../runtime/program/print.ts';
import {
  cond,
  memory,
  noGrad,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  whileLoop,
} from '../../src/index.ts';
import { sameAsEager } from './suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();

describe('one program', () => {
  it('is the same each time, and cached (92)', () => {
    const f = (x: Tensor) => (x.sum().itemSync() > 0 ? x.mul(2) : x.exp());
    const graph = toStatic(f, { fullGraph: true });
    for (let i = 0; i < 5; i++) tidy(() => graph(tensor([1, i - 3])));
    expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1 });
    const again = toStatic(f, { fullGraph: true });
    tidy(() => again(tensor([1, 2])));
    const print = (g: typeof graph) => printProgram(g.programs()[0]!.stages!.traced);
    expect(print(again)).toBe(print(graph));
    // Calls and their results are those of eager execution each time.
    sameAsEager(
      f,
      Array.from({ length: 5 }, (_, i) => () => [x(1, i - 3)]),
    );
  });

  it('gives the gradient of one of its results (96)', () => {
    const f = (x: Tensor) => {
      let a = x;
      let b = x;
      if (x.sum().itemSync() > 0) {
        a = x.mul(2);
        b = x.exp();
      }
      return [a.mul(3), b.mul(4)] as const;
    };
    const graph = toStatic(f, { fullGraph: true });
    const before = memory.stats('cpu').allocated;
    for (const values of [
      [1, 2],
      [-1, -2],
    ]) {
      for (const which of [0, 1] as const) {
        tidy(() => {
          const [p, q] = [x(...values), x(...values)];
          f(p)[which].sum().backward();
          graph(q)[which].sum().backward();
          expect([...q.grad!.dataSync()]).toEqual([...p.grad!.dataSync()]);
          for (const leaf of [p, q]) leaf.grad!.dispose();
        });
      }
    }
    expect(memory.stats('cpu').allocated).toBe(before);
    expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
  });

  it('writes in place to what it made, twice and in two runs (97)', () => {
    const f = (x: Tensor) =>
      noGrad(() => {
        const y = x.mul(2);
        y.add_(1);
        const z = x.sum().itemSync() > 0 ? y.mul(3) : y.clone();
        z.mul_(2);
        z.add_(y);
        return z;
      });
    sameAsEager(f, [() => [tensor([1, 2])], () => [tensor([-1, -2])]]);
  });

  it('returns an input or a parameter itself (98)', () => {
    const before = memory.stats('cpu').allocated;
    const w = x(5, 6);
    const graph = toStatic(
      (x: Tensor) => {
        const y = x.sum().itemSync() > 0 ? x.mul(w) : w.mul(3);
        return [x, w, y] as const;
      },
      { fullGraph: true },
    );
    for (const [values, gradient] of [
      [
        [1, 2],
        [1, 2],
      ],
      [
        [-1, -2],
        [3, 3],
      ],
    ] as const) {
      tidy(() => {
        const input = tensor([...values]);
        const [a, b, y] = graph(input);
        expect(a).toBe(input);
        expect(b).toBe(w);
        y.sum().backward();
        expect([...w.grad!.dataSync()]).toEqual(gradient);
        w.grad!.dispose();
        w.grad = null;
      });
    }
    w.dispose();
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('takes strided values through branches and loops (99)', () => {
    const f = (x: Tensor) => {
      let y = x.transpose(0, 1);
      if (x.sum().itemSync() > 0) y = y.transpose(0, 1).transpose(0, 1).contiguous();
      let n = 0;
      while (n < 2 && y.sum().itemSync() < 50) {
        y = y.transpose(0, 1).mul(2).transpose(0, 1);
        n++;
      }
      return y;
    };
    const make = (sign: number) => () => [
      tensor(
        [
          [1, 2],
          [3, 4],
        ].map((row) => row.map((value) => value * sign)),
      ).requiresGrad_(),
    ];
    sameAsEager(f, [make(1), make(-1), make(10)], {
      exact: false,
      never: [['no iteration', '2 && y.sum()', 'the iteration itself asks whether there is one']],
    });
  });

  it('keeps bytes flat over a hundred calls with backward', () => {
    const f = (x: Tensor) => {
      let y = x;
      while (y.sum().itemSync() < 50) y = y.mul(1.5).exp().log();
      return y.sum();
    };
    sameAsEager(
      f,
      Array.from({ length: 50 }, (_, i) => () => [x(1 + i, 2)]),
      { exact: false },
    );
  });
});

describe('control flow as functions, eagerly', () => {
  it('runs one branch, and gives its gradient', () => {
    tidy(() => {
      const a = x(1, 2);
      const y = cond(
        a.sum().gt(0),
        () => a.mul(2),
        () => a.mul(3),
      );
      y.sum().backward();
      expect([...a.grad!.dataSync()]).toEqual([2, 2]);
    });
  });

  it('names what is no condition', () => {
    tidy(() => {
      expect(() =>
        cond(
          tensor([1, 2]),
          () => 1,
          () => 2,
        ),
      ).toThrow(/several values/);
      expect(() =>
        whileLoop<[number]>(
          () => 'yes' as never,
          (i) => [i],
          [0],
        ),
      ).toThrow(/no condition|not a condition/);
    });
  });
});
