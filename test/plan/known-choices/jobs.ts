/** Training steps with something to choose. */

import {
  breakGraph,
  crossEntropy,
  nn,
  optim,
  randn,
  seed,
  type Tensor,
  tensor,
  where,
} from '../../../src/index.ts';

export interface Job {
  readonly step: (x: Tensor) => Tensor;
  readonly inputs: readonly [Tensor];
  readonly state: () => number[][];
  readonly dispose: () => void;
}

function training(
  parameters: readonly nn.Parameter[],
  forward: (x: Tensor) => Tensor,
  { breaks = false } = {},
): Job {
  const rows = 32;
  const optimizer = new optim.AdamW(parameters, { lr: 0.01 });
  const labels = tensor(Int32Array.from({ length: rows }, (_, i) => i % 7));
  const x = randn([rows, 24]);
  const step = (batch: Tensor): Tensor => {
    const loss = crossEntropy(forward(batch), labels);
    if (breaks) breakGraph();
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  return {
    step,
    inputs: [x],
    state: () => parameters.map((each) => [...each.dataSync()]),
    dispose: () => {
      optimizer.dispose();
      for (const each of [...parameters, labels, x]) each.dispose();
    },
  };
}

const parametersOf = (modules: readonly nn.Module[]) =>
  modules.flatMap((each) => [...each.parameters()]);

export const jobs: Readonly<Record<string, () => Job>> = {
  /** Few ops: its first plan is the final one. */
  layers() {
    seed(5);
    const [first, last] = [new nn.Linear(24, 48), new nn.Linear(48, 7)];
    return training(parametersOf([first, last]), (x) =>
      last.forward(first.forward(x).relu().mul(2).tanh()),
    );
  },
  /** More than a hundred ops: it begins with a first plan. */
  norms() {
    seed(6);
    const layers = Array.from({ length: 4 }, () => new nn.Linear(24, 24));
    const [norm, last] = [new nn.LayerNorm(24), new nn.Linear(24, 7)];
    return training(parametersOf([...layers, norm, last]), (x) => {
      let y = x;
      for (const layer of layers) y = y.add(layer.forward(norm.forward(y)).tanh());
      return last.forward(y.mul(y.sigmoid()));
    });
  },
  /** Forward and backward are planned apart. */
  masked() {
    seed(7);
    const [first, last] = [new nn.Linear(24, 32), new nn.Linear(32, 7)];
    const forward = (x: Tensor): Tensor => {
      const y = first.forward(x);
      return last.forward(where(y.gt(0), y.mul(y), y.neg().exp()));
    };
    return training(parametersOf([first, last]), forward, { breaks: true });
  },
};
