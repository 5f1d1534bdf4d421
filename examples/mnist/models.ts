import { nn, relu, type Tensor } from '../../src/index.ts';

/** Two layers: 101,770 parameters. */
export class Mlp extends nn.Module {
  hidden = new nn.Linear(28 * 28, 128);
  output = new nn.Linear(128, 10);

  override forward(images: Tensor): Tensor {
    const hidden = relu(this.hidden.forward(images.flatten(1)));
    return this.output.forward(hidden);
  }
}

/** Two convolutions, each followed by pooling, and a linear layer: 11,274 parameters. */
export class ConvNet extends nn.Module {
  first = new nn.Conv2d(1, 8, 5, { padding: 2 });
  second = new nn.Conv2d(8, 16, 5, { padding: 2 });
  pool = new nn.MaxPool2d(2);
  output = new nn.Linear(16 * 7 * 7, 10);

  override forward(images: Tensor): Tensor {
    const edges = this.pool.forward(relu(this.first.forward(images)));
    const parts = this.pool.forward(relu(this.second.forward(edges)));
    return this.output.forward(parts.flatten(1));
  }
}

/** How each model is created, and trained to recognize 97 % of the test digits. */
export const models = {
  mlp: { title: 'MLP', make: () => new Mlp(), batch: 500, epochs: 5, lr: 0.1, momentum: 0.9 },
  conv: {
    title: 'ConvNet',
    make: () => new ConvNet(),
    batch: 100,
    epochs: 1,
    lr: 0.03,
    momentum: 0.9,
  },
} as const;

export type ModelName = keyof typeof models;
