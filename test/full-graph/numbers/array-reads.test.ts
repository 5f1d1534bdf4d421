/** Arrays that `toArraySync()` reads stay in the program, number by number. */

import { describe, expect, it } from 'vitest';
import type { DType, Nested } from '../../../src/index.ts';
import {
  FullGraphError,
  nn,
  noGrad,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

const dtypes: readonly DType[] = ['float32', 'float64', 'float16', 'int32', 'uint8', 'bool'];
const shapes = [[], [1], [5], [0], [2, 0], [2, 3], [3, 1, 2]];

/** Small whole numbers, of which every dtype has its own. */
const counted = (shape: readonly number[], dtype: DType = 'float32'): Tensor => {
  const values = Array.from(
    { length: shape.reduce((a, b) => a * b, 1) },
    (_, i) => (i * 7 + 3) % 5,
  );
  return tidy(() => tensor(values).reshape(shape).to(dtype));
};

describe('toArraySync in one program', () => {
  it.each(dtypes)('gives arrays of %s for every shape and layout', (dtype) => {
    for (const shape of shapes) {
      const reversed = shape.map((_, dim) => shape.length - 1 - dim);
      sameAsEager(
        (x: Tensor) => [x.add(x), x.toArraySync(), x.tolist(), x.permute(reversed).toArraySync()],
        [() => [counted(shape, dtype)]],
      );
    }
  });

  it('holds what was there before a write', () => {
    sameAsEager(
      (x: Tensor) => {
        const y = x.mul(2);
        const before = y.toArraySync() as number[];
        y.add_(1);
        x.mul_(3);
        return [before, y.toArraySync(), x.toArraySync(), y.mul(before[1]!)];
      },
      [() => [counted([3])], () => [tensor([-3, 0, 2])]],
    );
  });

  it('of changing sizes are programs of their own', () => {
    const fn = (x: Tensor) => (x.mul(2).toArraySync() as number[]).map((value) => value + 1);
    const graph = toStatic(fn, { fullGraph: true });
    for (const size of [2, 4, 3, 2, 5]) expect(graph(counted([size]))).toEqual(fn(counted([size])));
    expect(graph.stats().breaks).toEqual([]);
  });

  it('decides, sorts and indexes', () => {
    sameAsEager(
      (x: Tensor) => {
        const rows = x.toArraySync() as number[][];
        const sums = rows.map(([a, b]) => a! * 10 + b!);
        const order = [...sums.keys()].sort((i, j) => sums[i]! - sums[j]!);
        let best = 0;
        for (const value of sums) if (value > 20) best += value;
        return [order, best, Math.max(...sums), x.mul(best)];
      },
      [
        () => [counted([4, 2])],
        () => [
          tensor([
            [-1, 4],
            [2, 2],
            [9, 0],
            [3, 3],
          ]),
        ],
      ],
    );
  });

  it('searches with a beam', () => {
    const [emb, cell, out] = [new nn.Embedding(7, 4), new nn.GRUCell(4, 4), new nn.Linear(4, 7)];
    const search = (start: Tensor) =>
      noGrad(() => {
        let beams = [{ h: start, ids: [1], score: 0 }];
        for (let step = 0; step < 2; step++) {
          const next: typeof beams = [];
          for (const { h, ids, score } of beams) {
            const state = cell.forward(emb.forward(tensor([ids.at(-1)!], { dtype: 'int32' })), h);
            const [values, places] = out.forward(state).logSoftmax(-1).squeeze(0).topk(2);
            const likely = values.toArraySync() as number[];
            const tokens = places.toArraySync() as number[];
            for (const [i, token] of tokens.entries()) {
              next.push({ h: state, ids: [...ids, token], score: score + likely[i]! });
            }
          }
          beams = next.sort((a, b) => b.score - a.score).slice(0, 2);
        }
        return beams.map(({ ids, score }) => ({ ids, score }));
      });
    const graph = toStatic(search, { fullGraph: true });
    for (let seed = 0; seed < 6; seed++) {
      const start = () => tensor([[seed, -seed / 2, 1, 0.5 * seed - 1]]);
      expect(graph(start())).toEqual(search(start()));
    }
    expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
  });

  it('reads at most 256 values', () => {
    const fn = (x: Tensor): Nested => x.toArraySync();
    expect(toStatic(fn, { fullGraph: true })(counted([256]))).toEqual(fn(counted([256])));
    expect(() => toStatic(fn, { fullGraph: true })(counted([257]))).toThrow(FullGraphError);
    expect(toStatic(fn, { capture: 'auto' })(counted([257]))).toEqual(fn(counted([257])));
  });
});
