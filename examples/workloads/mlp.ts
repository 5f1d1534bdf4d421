/** An MLP on random digits: three layers, AdamW. `tostatic compare examples/workloads/mlp.ts` runs it. */

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

  constructor({ breaks }: WorkloadOptions) {
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

export function workload(options: WorkloadOptions): Workload {
  const model = new Mlp(options);
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });
  const loss = (images: Tensor, labels: Tensor) => crossEntropy(model.forward(images), labels);
  const update = () => {
    optimizer.step();
    optimizer.zeroGrad();
  };
  return {
    loss,
    update,
    step(images, labels) {
      const value = loss(images!, labels!);
      value.backward();
      update();
      return value;
    },
    batch: () => [
      randn([size, 784]),
      tensor(Int32Array.from({ length: size }, (_, i) => i % classes)),
    ],
    dispose() {
      optimizer.dispose();
      model.dispose();
    },
  };
}
