/** Sizes that a mask decides: `nonzero`, masks as indices and `unique` as parts of one program. */

import { describe, it } from 'vitest';
import {
  type DType,
  index,
  nonzero,
  stack,
  type Tensor,
  tensor,
  unique,
  where,
} from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

type Fn = (x: Tensor, y: Tensor) => unknown;

const functions: Record<string, Fn> = {
  'places of elements': (x) => [x.gt(2).nonzero(), x.argwhere(), nonzero(x.sub(1)).sum(0)],
  'places by dimension': (x) => where(x.gt(2)),
  'of what has one element': (x) => [x.sum().nonzero(), x.sum().gt(50).nonzero()],
  'selected elements': (x, y) => [
    x.mul(y).maskedSelect(x.gt(2)).exp(),
    x.sum().maskedSelect(y.gt(1)),
  ],
  'a mask as index': (x, y) => x.tanh().t().index(y.gt(1)).mul(2),
  'a mask beside other indices': (x, y) => index(x.unsqueeze(1).mul(y), [], 0, y.gt(1)),
  'two masks': (x, y) => x.mul(y).index(x.select(1, 0).gt(-5), y.gt(1)),
  'a mask of rows': (x, y) => x.mul(y).index(x.sum(-1).gt(3)).sum(0),
  'distinct values': (x, y) => [
    x.unique(),
    unique(x.mul(y), { returnInverse: true, returnCounts: true }),
  ],
  'a branch on how many there are': (x) => {
    const found = x.gt(2).nonzero();
    return found.shape[0]! > 2 ? found.sum(0) : x.maskedSelect(x.lt(2)).sum();
  },
  'in a loop': (x) => {
    let total = x.sum();
    for (let i = 0; i < x.amax().itemSync(); i += 2) {
      total = total.mul(0.5).add(x.maskedSelect(x.gt(i)).exp().sum());
    }
    return total;
  },
  'experts that compute their rows alone': (x, y) => {
    let result = x.mul(0.1);
    for (let e = 0; e < 3; e++) {
      const rows = x.select(1, 0).add(e).remainder(3).lt(1.5).nonzero().select(1, 0);
      const chosen = x.indexSelect(0, rows).mul(y).add(e).tanh();
      result = result.indexAdd(0, rows, chosen.mul(0.5));
    }
    return result;
  },
  'masks of what is data-dependent itself': (x) => {
    const all: Tensor[] = [x];
    for (let y = x; y.sum().itemSync() < 40; all.push(y)) y = y.abs().add(1).mul(1.5);
    const rows = stack(all);
    const positive = rows.maskedSelect(rows.gt(1));
    return [rows.gt(2).nonzero(), positive.maskedSelect(positive.lt(4)).exp(), positive.unique()];
  },
};

const values = [
  [1, 2, 3, 0, 5, -1],
  [0, 0, 0, 0, 0, 0],
  [7, 7, -3, 2.5, 9, 7],
  [30, 1, 4, 4, 2, 60],
  [1, 0, 0.5, 1, 1, 0],
];
const given = values.map((each) => () => [
  tensor(each, { shape: [3, 2] }).requiresGrad_(),
  tensor([1.5, 0.5]).requiresGrad_(),
]);

describe('full-graph/nonzero', () => {
  it.each(Object.entries(functions))('%s', (_, fn) => {
    sameAsEager(fn, given);
  });

  it.each(['float64', 'float32', 'float16', 'int32', 'uint8', 'bool'] as const)(
    'of %s, of every rank',
    (dtype: DType) => {
      const fn = (x: Tensor) => [
        x.nonzero(),
        where(x),
        x.unique({ returnInverse: true, returnCounts: true }),
        x.maskedSelect(x.ne(1)),
      ];
      const special = dtype.startsWith('float') ? [NaN, -0, 0, NaN, Infinity, -2, 1, 1] : [];
      for (const shape of [[], [0], [8], [2, 4], [2, 0], [2, 2, 2]]) {
        const length = shape.reduce((size, each) => size * each, 1);
        const makes = [special, [1, 0, 2, 2, 1, 0, 3, 1]].map((numbers) => () => {
          const data = Array.from({ length }, (_, i) => numbers[i] ?? i % 3);
          return [tensor(data, { dtype, shape })];
        });
        sameAsEager(fn, makes);
      }
    },
  );
});
