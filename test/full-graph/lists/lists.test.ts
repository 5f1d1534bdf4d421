/** Conformance 85, 89, 90: lists that grow under decisions, and places that a program chooses. */

import { describe, expect, it } from 'vitest';
import { cat, stack, type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { sameAsEager, signs } from '../suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();
const loose = { exact: false };

describe('lists that grow', () => {
  it('in a loop with a bound, stacked behind it (90)', () => {
    const f = (x: Tensor) => {
      const all: Tensor[] = [];
      let y = x;
      let n = 0;
      while (n < 4 && y.sum().itemSync() < 100) {
        y = y.mul(2).add(1);
        all.push(y);
        n++;
      }
      return [all.length, all.length > 0 ? stack(all).sum(0) : y, all.at(-1) ?? x];
    };
    sameAsEager(f, [...signs, () => [x(200, 1)]], {
      ...loose,
      never: [['no iteration', '4 && y.sum()', 'the iteration itself asks whether there is one']],
    });
  });

  it('in a loop of the host that a decision ends (89, 90)', () => {
    const f = (x: Tensor) => {
      const all = [x];
      for (const [i, scale] of [2, 3, 4].entries()) {
        const y = all[i]!.mul(scale);
        if (y.sum().itemSync() > 50) break;
        all.push(y);
      }
      return [cat(all).mean(), all.length, all];
    };
    sameAsEager(f, signs, loose);
  });
});

describe('rows at a number of the program', () => {
  it('select and narrow, with gradients', () => {
    const f = (x: Tensor) => {
      const i = x.argmax().itemSync();
      const y = x.mul(2);
      return [y.select(0, i), y.narrow(0, i, 1), y.select(0, i - 2), y.select(0, 1 - i)];
    };
    sameAsEager(f, signs);
  });

  it('in a loop that counts', () => {
    const f = (x: Tensor) => {
      let i = 0;
      let sum = x.select(0, 0);
      while (sum.itemSync() < 10 && i < 1 + Math.trunc(x.min().itemSync() * 0)) {
        sum = sum.add(x.select(0, i + 1));
        i++;
      }
      return [sum, i];
    };
    sameAsEager(f, signs, {
      ...loose,
      never: [
        ['no iteration', 'sum.itemSync() < 10', 'the iteration itself asks whether there is one'],
      ],
    });
  });

  it('outside of the tensor throw the error of eager execution', () => {
    const f = (x: Tensor) => x.select(0, Math.trunc(x.max().itemSync()));
    const { graph } = sameAsEager(f, [() => [tensor([1, 0])], () => [tensor([0, -1])]]);
    expect(() => tidy(() => graph(tensor([7, 0])))).toThrow(/select: no such entry/);
  });

  it('are copies: writes in place are refused', () => {
    const written = (x: Tensor) => {
      const y = x.mul(2);
      const row = y.select(0, y.argmax().itemSync());
      y.add_(1);
      return row;
    };
    const graph = toStatic(written, { fullGraph: true });
    const reason = /rows were taken at a data-dependent index/;
    expect(() => tidy(() => graph(tensor([1, 2])))).toThrow(reason);
  });
});
