/** A small network, and labels of its classes. */

import { nn, relu, type Tensor, tensor } from '../../../src/index.ts';

export class Mlp extends nn.Module {
  readonly first: nn.Linear;
  readonly second: nn.Linear;

  constructor(inputs: number, hidden: number, outputs: number) {
    super();
    this.first = new nn.Linear(inputs, hidden);
    this.second = new nn.Linear(hidden, outputs);
  }

  override forward(x: Tensor): Tensor {
    return this.second.forward(relu(this.first.forward(x)));
  }
}

export const labels = (call: number, count = 6): Tensor =>
  tensor(Int32Array.from({ length: count }, (_, i) => (i * 7 + call) % 3));
