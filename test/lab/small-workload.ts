/** An MLP on random digits: three layers, AdamW. */

import {
  breakGraph,
  crossEntropy,
  nn,
  optim,
  randn,
  relu,
  type Tensor,
  tensor,
} from '../../src/index.ts';
import type { Workload, WorkloadOptions } from '../../src/lab/compare/workload.ts';

const [size, classes] = [128, 10];

class Mlp extends nn.Module {
  readonly layers = [new nn.Linear(784, 256), new nn.Linear(256, 128), new nn.Linear(128, classes)];
  readonly breaks: boolean;

  constructor({ breaks }: Pick<WorkloadOptions, 'breaks'>) {
    super();
    this.breaks = breaks;
  }

  override forward(images: Tensor): Tensor {
    let hidden = images;
    for (let i = 0; i < this.layers.length; i++) {
      if (i > 0) hidden = relu(hidden);
      if (this.breaks) breakGraph();
      hidden = this.layers[i]!.forward(hidden);
    }
    return hidden;
  }
}

export const workload: Workload = {
  build(options) {
    const model = new Mlp(options);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });
    const loss = (...[images, labels]: Tensor[]) => crossEntropy(model.forward(images!), labels!);
    return {
      loss,
      optimizer,
      step(images, labels) {
        const value = loss(images!, labels!);
        value.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return value;
      },
      inputs: () => [
        randn([size, 784]),
        tensor(Int32Array.from({ length: size }, (_, i) => i % classes)),
      ],
      dispose() {
        optimizer.dispose();
        model.dispose();
      },
    };
  },
};
