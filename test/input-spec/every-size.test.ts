/** Conformance 94: more sizes than entries are kept for other reasons, of functions that need more than shapes. */

import { describe, expect, it } from 'vitest';
import {
  nn,
  ones,
  rand,
  randn,
  seed,
  type Tensor,
  tensorSpec,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { bits } from '../save/exercise.ts';

interface Case {
  readonly name: string;
  readonly fn: (x: Tensor) => unknown;
  readonly make?: (n: number) => Tensor;
  /** How many traces the sizes take: 1 when left out. */
  readonly traces?: number;
}

const dropout = new nn.Dropout(0.5);

const cases: readonly Case[] = [
  {
    name: 'random numbers',
    fn: (x) =>
      x
        .add(rand([x.shape[0]!, 4]))
        .add(randn([3, 1, 4]))
        .sum(0),
  },
  {
    name: 'dropout, before and after a decision',
    fn: (x) => {
      const y = dropout.forward(x);
      const z = y.sum().itemSync() > 0 ? y.mul(2) : y;
      return z.add(dropout.forward(x));
    },
  },
  {
    name: 'a strided argument',
    fn: (x) => x.mul(2).sum(0).add(x.shape[0]!),
    make: (n) => randn([4, n]).transpose(0, 1),
    traces: 2,
  },
  {
    name: 'columns of a wider one',
    fn: (x) => x.mul(2).sum(0),
    make: (n) => randn([n, 9]).narrow(1, 2, 4),
    traces: 2,
  },
  {
    name: 'rows of a longer one',
    fn: (x) => x.mul(2).sum(0),
    make: (n) => randn([n + 2, 4]).narrow(0, 1, n),
  },
  {
    name: 'a row at a number of the program',
    fn: (x) => x.select(0, x.sum().itemSync() > 0 ? -1 : 0).mul(2),
  },
  {
    name: 'half of the rows from a number of the program on',
    fn: (x) => {
      const half = Math.floor(x.shape[0]! / 2);
      return x.narrow(0, x.sum().itemSync() > 0 ? half : 0, half).mul(2);
    },
  },
  {
    name: 'an array that grows in a loop',
    fn: (x) => {
      const out: Tensor[] = [];
      let y = x;
      while (y.abs().sum().itemSync() < 100) {
        y = y.mul(2).add(1);
        out.push(y);
      }
      return out;
    },
  },
  {
    name: 'a loop of the host over the size',
    fn: (x) => {
      let y = x;
      for (let i = 0; i < x.shape[0]!; i++) y = y.mul(0.5).add(i);
      return y;
    },
  },
  {
    name: 'a loop of the host over the rows',
    fn: (x) => {
      let y = x.sum();
      for (let i = 0; i < x.shape[0]!; i++)
        if (x.select(0, i).sum().itemSync() > 0) y = y.add(x.select(0, i).max());
      return y;
    },
  },
  {
    name: 'a number that a size and a decision make',
    fn: (x) => (x.sum().itemSync() > 0 ? x.shape[0]! : -x.numel()),
  },
];

describe('one trace for every size', () => {
  it.each(cases)('$name', ({ fn, make = (n: number) => randn([n, 4]), traces = 1 }) => {
    const captured = toStatic(fn, { fullGraph: true, inputSpec: [tensorSpec([null, 4])] });
    const outcome = (run: (x: Tensor) => unknown, n: number) =>
      tidy(() => {
        seed(n);
        const x = make(n);
        const y = run(x);
        return [bits(y), bits(rand([2]))];
      });
    for (const n of [3, 5, 2, 7, 4, 9, 1, 12, 6, 3, 8, 20]) {
      expect(outcome(captured, n)).toEqual(outcome(fn, n));
    }
    expect(captured.stats().breaks).toEqual([]);
    expect(captured.stats().translations).toBeLessThanOrEqual(traces);
  });

  it('of random numbers, with gradients, which draw the same mask again', () => {
    const fn = (x: Tensor) => dropout.forward(x.mul(x)).sum();
    const captured = toStatic(fn, { fullGraph: true, inputSpec: [tensorSpec(['n', 4])] });
    const outcome = (run: (x: Tensor) => Tensor, n: number) =>
      tidy(() => {
        seed(n);
        const x = ones([n, 4]).requiresGrad_();
        run(x).backward();
        return bits([x.grad, rand([2])]);
      });
    for (let n = 0; n < 12; n++) expect(outcome(captured, n)).toEqual(outcome(fn, n));
    expect(captured.stats().translations).toBe(1);
  });
});
