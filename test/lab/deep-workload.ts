/** A chain of element-by-element ops on one weight: nearly all that a step needs is kept for backward. */

import { optim, randn, type Tensor } from '../../src/index.ts';
import type { Workload } from '../../src/lab/compare/workload.ts';

const depth = 8;

export const workload: Workload = {
  build() {
    const weight = randn([16]).requiresGrad_();
    const optimizer = new optim.SGD([weight], { lr: 1e-3 });
    const loss = (x?: Tensor) => {
      let y = x!;
      for (let i = 0; i < depth; i++) y = y.mul(weight).tanh();
      return y.mean();
    };
    return {
      loss,
      optimizer,
      step(x) {
        const value = loss(x);
        value.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return value;
      },
      inputs: () => [randn([64, 16])],
      dispose() {
        optimizer.dispose();
        weight.dispose();
      },
    };
  },
};
