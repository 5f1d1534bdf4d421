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
