/** Functions whose branches and loops depend on data. */

import type { Tensor } from '../../src/index.ts';

export const controlFunctions: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  branch: (x) => {
    if (x.sum().itemSync() > 0) return x.mul(2);
    return x.sub(1);
  },
  loop: (x) => {
    let y = x;
    while (y.sum().itemSync() < 100) y = y.mul(1.5).add(1);
    return y;
  },
  'writes in a branch': (x) => {
    const y = x.mul(1);
    if (x.sum().itemSync() > 0) y.mul_(3);
    else y.narrow(0, 1, 2).add_(2);
    return y.add(y.sum());
  },
  'writes in a loop': (x) => {
    const sums = x.newZeros([2, 3]);
    const first = sums.narrow(0, 0, 1);
    let y = x.abs().add(1);
    while (y.sum().itemSync() < 100) {
      sums.narrow(0, 1, 1).add_(y);
      if (y.max().itemSync() > 5) first.mul_(2).add_(1);
      y = y.mul(1.5).add(sums.mean());
    }
    return sums.add(first);
  },
  'writes to two views in a branch, and a later write to one of them': (x) => {
    const y = x.mul(1);
    const [first, rest] = [y.narrow(0, 0, 1), y.narrow(0, 1, 2)];
    if (x.sum().itemSync() > 0) {
      first.mul_(3);
      rest.add_(first);
    }
    rest.mul_(2);
    return y;
  },
  'results that are written, where nothing else shows them': (x) => {
    let y = x.mul(1);
    if (x.sum().itemSync() > 0) y = x.mul(2);
    while (y.sum().itemSync() < 100) y = y.mul(1.5).add(1);
    y.add_(1);
    return y;
  },
  'branch in a loop': (x) => {
    let y = x;
    while (y.sum().itemSync() < 50) {
      if (y.max().itemSync() > 4) y = y.add(3);
      else y = y.add(1);
    }
    return y;
  },
};
export const controlInputs = [
  [1, 2, 3],
  [-4, 1, 0],
];

/** Data decides which memory a result is; then one of the tensors is written, and another one read. */
export const ambiguousWrites: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'a result of a branch that shows memory which is written later': (x) => {
    const memory = x.mul(1);
    let y = memory.narrow(0, 0, 2);
    if (x.sum().itemSync() > 0) y = memory.narrow(0, 1, 2);
    memory.add_(10);
    return y.mul(2);
  },
  'a result of a loop that shows memory which is written later': (x) => {
    const memory = x.mul(1);
    let y = memory;
    let limit = x.newZeros([]);
    while (limit.itemSync() < 2) {
      y = y.reshape([3, 1]).reshape([3]);
      limit = limit.add(1);
    }
    memory.add_(10);
    return y.mul(2);
  },
  'a write to a result': (x) => {
    const memory = x.mul(1);
    const y = x.sum().itemSync() > 0 ? memory : x.mul(2);
    y.add_(1);
    return memory.mul(2);
  },
  'a write in a loop to what it starts from': (x) => {
    const memory = x.mul(1);
    let y = memory;
    while (y.sum().itemSync() < 100) {
      memory.add_(1);
      y = y.mul(2);
    }
    return y.add(memory);
  },
  'a view that a loop carries on of what it writes': (x) => {
    const memory = x.mul(1);
    let y = x.mul(2);
    while (y.sum().itemSync() < 100) {
      memory.mul_(2).add_(5);
      y = memory.reshape([3]);
    }
    return y;
  },
};
