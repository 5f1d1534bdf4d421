/** Ops that move, join, choose and order elements, inside captured functions. */

import { describe, expect, it } from 'vitest';
import {
  arange,
  cat,
  embedding,
  eye,
  indexPut,
  nonzero,
  pad,
  slice,
  stack,
  type Tensor,
  tensor,
} from '../../src/index.ts';
import { expectSameAsEager, values, weights } from './same-as-eager.ts';

const int = (...list: number[]) => tensor(Int32Array.from(list));

describe('ops that depend on their arguments alone are one graph, with their gradients', () => {
  const functions: Readonly<Record<string, (x: Tensor, places: Tensor) => Tensor>> = {
    joining: (x) => cat([stack([x, x.mul(2)]), x.unsqueeze(0)]).sum(0),
    'splitting and joining': (x) => {
      const [a, b] = x.split([1, 3], 1);
      return cat([b!.mul(2), a!], -1).add(x.chunk(2)[0]!.repeat([2, 1]));
    },
    'slices with numbers, ranges and new dimensions': (x) =>
      x.index(1, slice(0, null, 2), null).add(x.index([], { start: 1, end: 3 })),
    'index tensors': (x, places) => x.index(places, 0).add(x.indexSelect(1, places).sum(1)),
    'gather and scatter': (x, places) =>
      x.scatterAdd(0, places.unsqueeze(0), x.gather(1, places.unsqueeze(0))),
    embedding: (x, places) => embedding(x, places).mul(2),
    'embedding with padding': (x, places) => embedding(x, places, { paddingIdx: 1 }).mul(x),
    'masked triangles, diagonals, windows': (x) =>
      x
        .tril(1)
        .add(x.unfold(1, 2, 2).sum(-1).unsqueeze(-1).sum(1))
        .add(x.diagonal().sum()),
    'padding and flips': (x) => pad(x, [1, 1], 'reflect').flip(1).roll(2, -1),
    ranges: (x) => x.add(arange(4)).add(eye(2, 4)),
    'the largest': (x) => {
      const [largest, at] = x.topk(2);
      return largest!.mul(at!).add(x.sort(1, true)[0]!.narrow(1, 0, 2));
    },
    'writing a copy': (x, places) => indexPut(x, [places], x.mul(3), { accumulate: true }),
    'transposes as properties': (x) => x.T.mul(2).mT.add(x).matmul(x.mT),
    'a turned grid': (x) => x.rot90().t().swapaxes(0, 1).movedim(0, 1).unflatten(0, [2, -1]),
  };
  for (const [name, fn] of Object.entries(functions)) {
    it(name, () => {
      const { graphs, breaks } = expectSameAsEager(() => ({
        fn,
        args: () => [weights([2, 4]), int(1, 0)],
      }));
      expect([graphs, breaks]).toEqual([1, 0]);
    });
  }
});

describe('a graph break', () => {
  const breaking: Readonly<Record<string, readonly [(x: Tensor) => Tensor, string]>> = {
    'at nonzero': [(x) => x.add(nonzero(x.mul(2)).sum()), 'data-size'],
    'at an index by a mask': [(x) => x.mul(2).index(x.gt(0)).sum().add(x), 'data-size'],
    'at maskedSelect': [(x) => x.mul(2).maskedSelect(x.gt(0)).sum().add(x), 'data-size'],
  };
  for (const [name, [fn, reason]] of Object.entries(breaking)) {
    it(name, () => {
      const { reasons } = expectSameAsEager(() => ({ fn, args: () => [values([2, 4])] }));
      expect(reasons).toContain(reason);
    });
  }
});

describe('writes in place, without gradients, are part of the graph', () => {
  const writes: Readonly<Record<string, (y: Tensor, places: Tensor) => Tensor>> = {
    'by index tensors': (y, places) => y.indexPut_([places], 5),
    'by a mask': (y) => y.indexPut_([y.gt(0)], 5),
    'through a slice': (y, places) => y.indexPut_([[], places], 7),
    'through a view': (y) => y.index(0).fill_(3),
    'of scattered elements': (y, places) => y.scatter_(0, places.unsqueeze(0), 1),
  };
  for (const [name, write] of Object.entries(writes)) {
    it(name, () => {
      const { graphs, breaks } = expectSameAsEager(() => ({
        fn: (x: Tensor, places: Tensor) => {
          const y = x.mul(2);
          write(y, places);
          return y.add(x);
        },
        args: () => [values([2, 4]), int(1, 0)],
      }));
      expect([graphs, breaks]).toEqual([1, 0]);
    });
  }
});
