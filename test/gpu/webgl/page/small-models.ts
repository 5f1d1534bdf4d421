/** A small MLP and a small convolutional network, for tests that train on several devices. */

import { maxPool2d, nn, relu, type Tensor } from '../../../../runtime/index.ts';

export class Mlp extends nn.Module {
  first = new nn.Linear(6, 16);
  second = new nn.Linear(16, 4);
  override forward(x: Tensor): Tensor {
    return this.second.forward(relu(this.first.forward(x)));
  }
}

class ConvNet extends nn.Module {
  conv = new nn.Conv2d(1, 3, 3, { padding: 1 });
  head = new nn.Linear(3 * 4 * 4, 4);
  override forward(x: Tensor): Tensor {
    const features = maxPool2d(relu(this.conv.forward(x)), 2);
    return this.head.forward(features.reshape([x.shape[0]!, 48]));
  }
}

export const smallModels = {
  MLP: { make: () => new Mlp(), shape: [8, 6] },
  ConvNet: { make: () => new ConvNet(), shape: [8, 1, 8, 8] },
} as const;
