/** Modules and optimizers that captured code constructs: their parameters are drawn by the graph. */

import { it } from 'vitest';
import { nn, optim, seed, type Tensor, tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';
import { expectOneGraph } from './every-mode.ts';

class Mixed extends nn.Module {
  readonly layer: nn.Linear;
  readonly norm: nn.BatchNorm1d;
  readonly scales = [nn.parameter(tensor([1, 2, 3]))];

  constructor(features: number) {
    super();
    this.layer = new nn.Linear(2, features);
    this.norm = new nn.BatchNorm1d(features);
  }

  override forward(x: Tensor): Tensor {
    return this.norm.forward(this.layer.forward(x)).mul(this.scales[0]!);
  }
}

class Recurrent extends nn.Module {
  readonly layer = new nn.LSTM(2, 3);

  override forward(x: Tensor): unknown {
    return this.layer.forward(x.unsqueeze(1));
  }
}

type Made = nn.Module & { forward(x: Tensor): unknown };

const makers: Readonly<Record<string, () => Made>> = {
  'a layer without parameters': () => new nn.ReLU(),
  'a linear layer': () => new nn.Linear(2, 3),
  'dropout, which draws': () => new nn.Dropout(0.5),
  'a convolution with options': () =>
    new nn.Sequential(
      new nn.Unflatten(0, [1, 1, 4]),
      new nn.Conv2d(1, 2, 2, { padding: 1, bias: false }),
    ),
  'layers in a row, frozen': () =>
    new nn.Sequential(new nn.Linear(2, 3), new nn.Tanh(), new nn.Linear(3, 1)).requiresGrad_(false),
  'a recurrent layer': () => new Recurrent(),
  "a class of the user's, evaluated": () => new Mixed(3).eval(),
  'layers from a loop': () =>
    new nn.Sequential(...Array.from({ length: 3 }, () => new nn.Linear(2, 2))),
  'a layer with another start': () => {
    const layer = new nn.Linear(2, 3);
    nn.init.xavierUniform_(layer.weight);
    nn.init.zeros_(layer.bias!);
    return layer;
  },
};

function seeded(call: number): Tensor[] {
  seed(5 + call);
  return [values([4, 2])];
}

for (const [name, make] of Object.entries(makers)) {
  it(name, () => {
    expectOneGraph((): World => {
      const left: Made[] = [];
      return {
        fn: (x: Tensor) => {
          const made = make();
          left.push(made);
          return made.forward(x);
        },
        args: seeded,
        state: () =>
          left.map((made) => {
            const buffers = [...made.namedBuffers()];
            const names = Array.from(made.namedParameters(), ([each]) => each);
            return [names, buffers, made.stateDict(), made.training, made.constructor.name];
          }),
      };
    });
  });
}

it('a training step with an optimizer and a schedule of its own', () => {
  expectOneGraph(() => {
    const w = weights([2], 3);
    return {
      fn: (x: Tensor) => {
        const optimizer = new optim.AdamW([w], { lr: 0.1, weightDecay: 0.1 });
        const schedule = new optim.StepLR(optimizer, 1, 0.5);
        for (let i = 0; i < 2; i++) {
          optimizer.zeroGrad();
          x.mul(w).sum().backward();
          optimizer.step();
          schedule.step();
        }
        return optimizer.groups[0]!.lr;
      },
      args: () => [values([2])],
      state: () => w,
    };
  });
});

it('arguments that a module rejects, and a break after one was made', () => {
  const left: unknown[] = [];
  expectSameAsEager(() => ({
    fn: (x: Tensor) => {
      const layer = new nn.Linear(2, 3);
      left.push(process.uptime());
      try {
        return [layer.forward(x), new nn.Dropout(2)];
      } catch (error) {
        return [layer, (error as Error).name, layer.forward(x).mul(2)];
      }
    },
    args: seeded,
  }));
});
