/** Writes in place of values of data-dependent shape to tensors of known shape. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

type Fn = (x: Tensor, buffer: Tensor) => unknown;

const rows = (x: Tensor, limit = 2) => x.sum(1).gt(limit).nonzero().select(1, 0);

const functions: Record<string, Fn> = {
  'elements at a mask': (x) => {
    const y = x.clone();
    const mask = y.gt(2);
    y.indexPut_([mask], x.maskedSelect(mask).mul(10));
    return y;
  },
  'as many elements as a mask must have': (x) => {
    const y = x.mul(2);
    y.indexPut_([y.gt(4)], tensor([1, 2]));
    return y;
  },
  'rows at indices': (x) => {
    const y = x.mul(2);
    const chosen = rows(x);
    y.indexPut_([chosen], x.indexSelect(0, chosen).exp());
    y.indexCopy_(0, chosen, y.indexSelect(0, chosen).tanh());
    return y.mul(y);
  },
  'sums of rows': (x) => {
    const y = x.mul(2);
    const chosen = rows(x);
    const same = y.indexAdd_(0, chosen, x.indexSelect(0, chosen).exp());
    return [y.mul(y), same === y];
  },
  'a number at indices': (x) => {
    const y = x.mul(2);
    y.indexFill_(0, rows(x), 3);
    return y.mul(y);
  },
  'a view': (x) => {
    const y = x.mul(2);
    const column = y.select(1, 0);
    const mask = column.gt(1);
    column.indexPut_([mask], column.index(mask).neg());
    return [y, column];
  },
  'an argument': (x, buffer) => {
    const chosen = rows(x);
    buffer.indexAdd_(0, chosen, x.detach().indexSelect(0, chosen));
    return buffer.sum().mul(x);
  },
};

/** Gradients don't flow through writes in a branch or loop to tensors from around it. */
const inRegions: Record<string, Fn> = {
  'in a branch': (x, buffer) => {
    if (x.sum().itemSync() > 3) buffer.indexAdd_(0, rows(x), x.detach().index(x.sum(1).gt(2)));
    return buffer.mul(2);
  },
  'in a loop': (x, buffer) => {
    for (let i = 0; i < x.sum().itemSync(); i += 3) {
      const chosen = rows(x, i);
      buffer.indexAdd_(0, chosen, x.detach().indexSelect(0, chosen));
    }
    return buffer.mul(2);
  },
};

const values = [
  [1, 2, 3, 0, 5, -1],
  [0, 0, 0, 0, 0, 0],
  [1, 0, 1, 0, 0, 0],
  [3, 3, 3, 3, 3, 3],
  [0, 1, 4, 5, 0, 0],
];

describe('full-graph/data-dependent/writes', () => {
  it.each(Object.entries({ ...functions, ...inRegions }))('%s', (name, fn) => {
    const fitting = name.startsWith('as many') ? values.slice(-1) : values;
    const makes = (grad: boolean) =>
      fitting.map((each) => () => [
        tensor(each, { shape: [3, 2] }).requiresGrad_(grad),
        tensor([1, 2, 3, 4, 5, 6], { shape: [3, 2] }),
      ]);
    for (const grad of [false, true]) {
      sameAsEager(fn, makes(grad));
    }
  });

  it.each([
    [
      'a leaf',
      (x: Tensor) => x.indexAdd_(0, rows(x), x.indexSelect(0, rows(x))),
      /indexAdd_ of data-dependent shape writes in place to a leaf/,
    ],
    [
      'a result of another shape',
      (x: Tensor) => x.sum(0).add_(x.index(x.sum(1).gt(2))),
      /add_ of data-dependent shape writes in place a result of another shape/,
    ],
    [
      'where gradients flow in a branch',
      (x: Tensor) => {
        const y = x.mul(2);
        if (x.sum().itemSync() > 3) y.indexAdd_(0, rows(x), x.index(x.sum(1).gt(2)));
        return y;
      },
      /indexAdd_\(\) where gradients flow/,
    ],
  ])('refused: %s', (_, fn, reason) => {
    const graph = toStatic(fn, { fullGraph: true });
    const x = () => tensor([1, 2, 3, 0, 5, -1], { shape: [3, 2] }).requiresGrad_();
    expect(() => tidy(() => graph(x()))).toThrow(reason);
  });
});
