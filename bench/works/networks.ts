import { CSWinTransformer, reduced } from '../../examples/workloads/cswin-model.ts';
import {
  conv2d,
  crossEntropy,
  gelu,
  mseLoss,
  nn,
  optim,
  randn,
  relu,
  scaledDotProductAttention,
  type Tensor,
  tensor,
  tidy,
} from '../../src/index.ts';
import { sumOf, type Work } from './work.ts';

/** Forward, backward of all parameters, and SGD with a rate of 0.1. */
function training(model: nn.Module, lossOf: () => Tensor, read: readonly Tensor[] = []): Work {
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
  const step = (): Tensor => {
    optimizer.zeroGrad();
    const loss = lossOf();
    loss.backward();
    optimizer.step();
    return loss;
  };
  const tensors = [...read, ...model.parameters()];
  return { step, checksum: () => sumOf(model.parameters()), tensors };
}

const labelsOf = (batch: number): Tensor =>
  tensor(Int32Array.from({ length: batch }, (_, i) => i % 10));

class Mlp extends nn.Module {
  readonly layers = [
    new nn.Linear(784, 512),
    new nn.Linear(512, 512),
    new nn.Linear(512, 10),
  ] as const;

  override forward(x: Tensor): Tensor {
    const [first, second, third] = this.layers;
    return third.forward(relu(second.forward(relu(first.forward(x)))));
  }
}

/** A step of an MLP with ten classes, cross-entropy. */
export function mlp(batch: number): Work {
  const model = new Mlp();
  const x = randn([batch, 784]);
  const labels = labelsOf(batch);
  return training(model, () => crossEntropy(model.forward(x), labels), [x, labels]);
}

export interface BlockSizes {
  readonly batch: number;
  readonly steps: number;
  readonly width: number;
  readonly heads: number;
}

/** A pre-norm transformer block with approximate GELU. */
export class Block extends nn.Module {
  readonly first: nn.LayerNorm;
  readonly second: nn.LayerNorm;
  readonly project: nn.Linear;
  readonly join: nn.Linear;
  readonly widen: nn.Linear;
  readonly narrow: nn.Linear;
  readonly heads: number;

  constructor({ width, heads }: BlockSizes) {
    super();
    this.first = new nn.LayerNorm(width);
    this.second = new nn.LayerNorm(width);
    this.project = new nn.Linear(width, 3 * width);
    this.join = new nn.Linear(width, width);
    this.widen = new nn.Linear(width, 4 * width);
    this.narrow = new nn.Linear(4 * width, width);
    this.heads = heads;
  }

  override forward(x: Tensor): Tensor {
    const [batch, steps, width] = x.shape as [number, number, number];
    const all = this.project.forward(this.first.forward(x));
    const part = (i: number) =>
      all
        .narrow(-1, i * width, width)
        .reshape([batch, steps, this.heads, width / this.heads])
        .transpose(1, 2);
    const mixed = scaledDotProductAttention(part(0), part(1), part(2));
    const y = x.add(this.join.forward(mixed.transpose(1, 2).reshape([batch, steps, width])));
    const hidden = gelu(this.widen.forward(this.second.forward(y)), 'tanh');
    return y.add(this.narrow.forward(hidden));
  }
}

export function blockForward(sizes: BlockSizes): Work {
  const model = new Block(sizes);
  for (const parameter of model.parameters()) parameter.requiresGrad_(false);
  const x = randn([sizes.batch, sizes.steps, sizes.width]);
  const step = (): Tensor => model.forward(x);
  return { step, checksum: () => tidy(() => step().sum().itemSync() as number) };
}

export function blockStep(sizes: BlockSizes): Work {
  const model = new Block(sizes);
  const shape = [sizes.batch, sizes.steps, sizes.width];
  const [x, y] = [randn(shape), randn(shape)];
  return training(model, () => mseLoss(model.forward(x), y), [x, y]);
}

/** Gradients of an image and of weights of mean(y²). */
function gradients(image: Tensor, weights: readonly Tensor[], of: () => Tensor): Work {
  const all = [image, ...weights];
  const step = (): Tensor => {
    for (const each of all) {
      each.grad?.dispose();
      each.grad = null;
    }
    const loss = of().square().mean();
    loss.backward();
    return loss;
  };
  return { step, checksum: () => sumOf(all.map((each) => each.grad!)) };
}

const parameter = (...shape: number[]): Tensor => tidy(() => randn(shape).mul(0.1)).requiresGrad_();

/** A convolution 3 × 3, 32 → 64 channels. */
export function convolution(batch: number, side: number): Work {
  const image = randn([batch, 32, side, side]).requiresGrad_();
  const weight = parameter(64, 32, 3, 3);
  return gradients(image, [weight], () => conv2d(image, weight, null, { padding: 1 }));
}

/** Pointwise 64 → 128, depthwise 3 × 3 with stride 2, pointwise 128 → 64. */
export function mobileBlock(batch: number, side: number): Work {
  const image = randn([batch, 64, side, side]).requiresGrad_();
  const wide = parameter(128, 64, 1, 1);
  const each = parameter(128, 1, 3, 3);
  const narrow = parameter(64, 128, 1, 1);
  return gradients(image, [wide, each, narrow], () => {
    const hidden = relu(conv2d(image, wide));
    const strided = relu(conv2d(hidden, each, null, { stride: 2, padding: 1, groups: 128 }));
    return conv2d(strided, narrow);
  });
}

/** A step of a CNN with 16 and 32 channels on 28 × 28. */
export function cnn(batch: number): Work {
  const model = new nn.Sequential(
    ...[new nn.Conv2d(1, 16, 3, { padding: 1 }), new nn.ReLU(), new nn.MaxPool2d(2)],
    ...[new nn.Conv2d(16, 32, 3, { padding: 1 }), new nn.ReLU(), new nn.MaxPool2d(2)],
    ...[new nn.Flatten(), new nn.Linear(32 * 7 * 7, 10)],
  );
  const x = randn([batch, 1, 28, 28]);
  const labels = labelsOf(batch);
  return training(model, () => crossEntropy(model.forward(x), labels));
}

/** A step of an LSTM, 32 features → 128, on sequences of 32. */
export function lstm(batch: number, steps: number): Work {
  const model = new nn.LSTM(32, 128);
  const x = randn([steps, batch, 32]);
  return training(model, () => model.forward(x)[0].square().mean());
}

/** A step of a reduced CSWin transformer. */
export function cswin(batch: number): Work {
  const model = new CSWinTransformer({ ...reduced, dropPath: 0 });
  const x = randn([batch, 1, 32, 32]);
  const labels = labelsOf(batch);
  return training(model, () => crossEntropy(model.forward(x), labels));
}
