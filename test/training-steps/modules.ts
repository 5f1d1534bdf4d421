/** Every module, each alone or with others of its family, with options and sizes that a seed chooses. */

import { nn, randn, relu, type Tensor, tensor } from '../../src/index.ts';
import type { Choices } from './choices.ts';
import { families } from './module-families.ts';

/** A module, what goes into it, and what of its results a loss is computed from. */
export interface Subject {
  readonly modules: readonly nn.Module[];
  /** Tensors of one batch; the first dimension or the second counts samples. */
  readonly input: () => Tensor[];
  readonly forward: (...input: Tensor[]) => Tensor;
}

export type Make = (choices: Choices) => Subject;

/** A module of one input and one output. */
type Layer = nn.Module & { forward(x: Tensor): Tensor };

function simple(module: Layer, input: () => Tensor): Subject {
  return { modules: [module], input: () => [input()], forward: (x) => module.forward(x) };
}

/** Rows through a layer, the module, and another layer: what lies between is the larger part of a step. */
function between(choices: Choices, width: number, module: Layer): Subject {
  const [rows, inputs] = [choices.of([64, 128, 256, 384]), choices.of([8, 16, 33])];
  const [first, last] = [new nn.Linear(inputs, width), new nn.Linear(width, width)];
  return {
    modules: [first, module, last],
    input: () => [randn([rows, inputs])],
    forward: (x) => last.forward(relu(module.forward(first.forward(x)))),
  };
}

/** A number of images, and the module on them after a convolution. */
function onImages(
  choices: Choices,
  channels: number,
  make: (channels: number, size: number) => Layer,
): Subject {
  const [count, size] = [choices.of([8, 16, 32]), choices.of([8, 9, 12])];
  const inner = channels;
  const first = new nn.Conv2d(3, inner, 3, { padding: 1 });
  const module = make(inner, size);
  return {
    modules: [first, module],
    input: () => [randn([count, 3, size, size])],
    forward: (x) => module.forward(relu(first.forward(x))),
  };
}

function recurrentSizes(choices: Choices) {
  const [steps, batch] = [choices.of([2, 4, 8]), choices.of([8, 16, 32, 64, 128])];
  const [inputs, hidden] = [choices.of([4, 8, 16, 32]), choices.of([16, 32, 64])];
  return { steps, batch, inputs, hidden };
}

function recurrent(Type: typeof nn.RNN | typeof nn.GRU | typeof nn.LSTM): Make {
  return (choices) => {
    const { steps, batch, inputs, hidden } = recurrentSizes(choices);
    const batchFirst = choices.chance(0.5);
    const numLayers = choices.of([1, 1, 2]);
    const bidirectional = choices.chance(0.3);
    const dropout = choices.of([0, 0, 0.25]);
    const bias = choices.chance(0.8);
    const nonlinearity = choices.of(['tanh', 'relu'] as const);
    const options = { batchFirst, numLayers, bidirectional, dropout, bias };
    const module =
      Type === nn.RNN
        ? new nn.RNN(inputs, hidden, { ...options, nonlinearity })
        : new Type(inputs, hidden, options);
    const [usesState, usesLengths] = [choices.chance(0.5), choices.chance(0.2)];
    const states = numLayers * (bidirectional ? 2 : 1);
    const input = () => {
      const lengths = Int32Array.from({ length: batch }, (_, i) => 1 + ((i * 5) % steps));
      return [
        randn(batchFirst ? [batch, steps, inputs] : [steps, batch, inputs]),
        ...(usesState ? [randn([states, batch, hidden])] : []),
        ...(usesLengths ? [tensor(lengths)] : []),
      ];
    };
    const forward = (x: Tensor, ...others: Tensor[]) => {
      const given = usesState ? others[0]! : null;
      const lengths = usesLengths ? others.at(-1)! : null;
      const state = module instanceof nn.LSTM && given ? [given, given] : given;
      const [all, last] = module.forward(x, state as never, lengths) as [Tensor, Tensor | Tensor[]];
      const hidden = Array.isArray(last) ? last.at(-1)! : last;
      return all.sum(batchFirst ? 1 : 0).add(hidden.sum(0).mean(-1, { keepDim: true }));
    };
    return { modules: [module], input, forward };
  };
}

function cell(Type: typeof nn.RNNCell | typeof nn.GRUCell | typeof nn.LSTMCell): Make {
  return (choices) => {
    const { steps, batch, inputs, hidden } = recurrentSizes(choices);
    const module = new Type(inputs, hidden, { bias: choices.chance(0.7) });
    const forward = (sequence: Tensor) => {
      let state: Tensor | readonly Tensor[] | null = null;
      let sum: Tensor | null = null;
      for (let i = 0; i < steps; i++) {
        state = module.forward(sequence.select(0, i), state as never) as Tensor | readonly Tensor[];
        const own = (Array.isArray(state) ? state[0] : state) as Tensor;
        sum = sum ? sum.add(own) : own;
      }
      return sum!;
    };
    return { modules: [module], input: () => [randn([steps, batch, inputs])], forward };
  };
}

const attention: Make = (choices) => {
  const heads = choices.of([2, 4]);
  const features = heads * choices.of([4, 8, 16]);
  const [batch, steps, keys] = [choices.of([8, 16, 32]), choices.of([4, 8]), choices.of([4, 6, 8])];
  const batchFirst = choices.chance(0.5);
  const options = {
    batchFirst,
    bias: choices.chance(0.7),
    addBiasKv: choices.chance(0.3),
    addZeroAttn: choices.chance(0.3),
    dropout: choices.of([0, 0.1]),
    ...(choices.chance(0.3) ? { kdim: 12, vdim: 20 } : {}),
  };
  const module = new nn.MultiheadAttention(features, heads, options);
  const needWeights = choices.chance(0.5);
  const of = (length: number, size: number) =>
    randn(batchFirst ? [batch, length, size] : [length, batch, size]);
  const input = () => [
    of(steps, features),
    of(keys, options.kdim ?? features),
    of(keys, options.vdim ?? features),
  ];
  const forward = (query: Tensor, key: Tensor, value: Tensor) => {
    const [output, weights] = module.forward(query, key, value, { needWeights });
    return weights ? output.add(weights.mean()) : output;
  };
  return { modules: [module], input, forward };
};

const transformer =
  (kind: 'encoder' | 'decoder' | 'stack' | 'whole'): Make =>
  (choices) => {
    const heads = choices.of([2, 4]);
    const width = heads * choices.of([4, 8]);
    const [batch, steps] = [choices.of([8, 16, 32]), choices.of([4, 8])];
    const options = {
      dimFeedforward: choices.of([32, 64]),
      dropout: choices.of([0, 0.1]),
      batchFirst: choices.chance(0.5),
      normFirst: choices.chance(0.5),
      activation: choices.of(['relu', 'gelu'] as const),
    };
    const of = () => randn(options.batchFirst ? [batch, steps, width] : [steps, batch, width]);
    if (kind === 'encoder')
      return simple(new nn.TransformerEncoderLayer(width, heads, options), of);
    if (kind === 'stack') {
      const layer = () => new nn.TransformerEncoderLayer(width, heads, options);
      return simple(new nn.TransformerEncoder(layer, 2, new nn.LayerNorm(width)), of);
    }
    const module =
      kind === 'decoder'
        ? new nn.TransformerDecoderLayer(width, heads, options)
        : new nn.Transformer({
            dModel: width,
            nhead: heads,
            numEncoderLayers: 1,
            numDecoderLayers: 1,
            ...options,
          });
    return {
      modules: [module],
      input: () => [of(), of()],
      forward: (x, y) => module.forward(x, y) as Tensor,
    };
  };

const conv2d: Make = (choices) => {
  const groups = choices.of([1, 1, 2]);
  const [stride, padding, dilation] = [
    choices.of([1, 2]),
    choices.of([0, 1, 2]),
    choices.of([1, 2]),
  ];
  const bias = choices.chance(0.7);
  const paddingMode = choices.of(['zeros', 'zeros', 'reflect', 'replicate', 'circular'] as const);
  return onImages(choices, choices.of([4, 8]), (channels) => {
    const options = { stride, padding, dilation, groups, bias, paddingMode };
    return new nn.Conv2d(channels, channels * 2, choices.of([1, 2, 3]), options);
  });
};

const conv1d: Make = (choices) => {
  const [count, length] = [choices.of([8, 16, 32]), choices.of([16, 32])];
  const first = new nn.Conv1d(4, 16, 3, { padding: 1 });
  const [stride, padding, groups] = [choices.of([1, 2]), choices.of([0, 1]), choices.of([1, 2])];
  const last = new nn.Conv1d(16, 16, 3, { stride, padding, groups, bias: choices.chance(0.7) });
  return {
    modules: [first, last],
    input: () => [randn([count, 4, length])],
    forward: (x) => last.forward(relu(first.forward(x))),
  };
};

const transposed1d: Make = (choices) => {
  const [count, length] = [choices.of([4, 8, 16]), choices.of([8, 16])];
  const first = new nn.Conv1d(4, 16, 3, { padding: 1 });
  const last = new nn.ConvTranspose1d(16, 8, 3, { stride: choices.of([1, 2]) });
  return {
    modules: [first, last],
    input: () => [randn([count, 4, length])],
    forward: (x) => last.forward(relu(first.forward(x))),
  };
};

const batchNorm1d: Make = (choices) => {
  const width = choices.of([16, 32, 50]);
  const options = { momentum: choices.of([0.1, null]), affine: choices.chance(0.7) };
  const module = new nn.BatchNorm1d(width, { ...options, trackRunningStats: choices.chance(0.7) });
  return between(choices, width, module);
};

const norms3d =
  (Type: typeof nn.BatchNorm3d | typeof nn.InstanceNorm3d): Make =>
  (choices) => {
    const [count, channels] = [choices.of([4, 8]), choices.of([2, 4])];
    const options = { affine: choices.chance(0.7), momentum: choices.of([0.1, null]) };
    const module = new Type(channels, { ...options, trackRunningStats: choices.chance(0.7) });
    const last = new nn.Linear(6, 6);
    return {
      modules: [module, last],
      input: () => [randn([count, channels, 4, 6, 6])],
      forward: (x) => last.forward(module.forward(x)),
    };
  };

const instanceNorm1d: Make = (choices) => {
  const [count, channels, length] = [choices.of([8, 16]), choices.of([4, 8]), choices.of([16, 33])];
  const options = { affine: choices.chance(0.7), trackRunningStats: choices.chance(0.5) };
  const first = new nn.Conv1d(3, channels, 3, { padding: 1 });
  const module = new nn.InstanceNorm1d(channels, options);
  return {
    modules: [first, module],
    input: () => [randn([count, 3, length])],
    forward: (x) => module.forward(first.forward(x)),
  };
};

const embedding: Make = (choices) => {
  const [entries, width] = [choices.of([20, 50]), choices.of([16, 32])];
  const [batch, steps] = [choices.of([16, 32, 64]), choices.of([4, 8])];
  const options = {
    paddingIdx: choices.of([null, 0, -1]),
    maxNorm: choices.of([null, null, 1]),
  };
  const [module, last] = [new nn.Embedding(entries, width, options), new nn.Linear(width, width)];
  const input = () => {
    const indices = Int32Array.from({ length: batch * steps }, (_, i) => (i * 7) % entries);
    return [tensor(indices).reshape([batch, steps])];
  };
  return { modules: [module, last], input, forward: (x) => relu(last.forward(module.forward(x))) };
};

const linear: Make = (choices) => {
  const widths = Array.from({ length: 2 + choices.below(3) }, () =>
    choices.of([16, 32, 48, 64, 100]),
  );
  const rows = choices.of([64, 128, 256, 384]);
  const layers = widths.slice(1).map((width, i) => {
    return new nn.Linear(widths[i]!, width, { bias: choices.chance(0.8) });
  });
  const forward = (input: Tensor) => {
    let x = input;
    for (const layer of layers) x = relu(layer.forward(x));
    return x;
  };
  return { modules: layers, input: () => [randn([rows, widths[0]!])], forward };
};

const bilinear: Make = (choices) => {
  const [rows, a, b] = [choices.of([32, 128]), choices.of([4, 8]), choices.of([5, 8])];
  const module = new nn.Bilinear(a, b, choices.of([8, 16]), { bias: choices.chance(0.7) });
  const forward = (x: Tensor, y: Tensor) => module.forward(x, y);
  return { modules: [module], input: () => [randn([rows, a]), randn([rows, b])], forward };
};

const width = (choices: Choices) => choices.of([16, 36, 64]);
const affine = (choices: Choices) => choices.chance(0.7);

/** By the name of the module or family. */
export const subjects: Readonly<Record<string, Make>> = {
  Linear: linear,
  Bilinear: bilinear,
  Conv1d: conv1d,
  Conv2d: conv2d,
  ConvTranspose1d: transposed1d,
  ConvTranspose2d: (c) =>
    onImages(c, 4, (channels) => new nn.ConvTranspose2d(channels, 6, 3, { stride: c.of([1, 2]) })),
  BatchNorm1d: batchNorm1d,
  BatchNorm2d: (c) =>
    onImages(
      c,
      8,
      (channels) =>
        new nn.BatchNorm2d(channels, {
          momentum: c.of([0.1, null]),
          affine: affine(c),
          trackRunningStats: c.chance(0.7),
        }),
    ),
  BatchNorm3d: norms3d(nn.BatchNorm3d),
  InstanceNorm1d: instanceNorm1d,
  InstanceNorm2d: (c) =>
    onImages(c, 8, (channels) => new nn.InstanceNorm2d(channels, { affine: affine(c) })),
  InstanceNorm3d: norms3d(nn.InstanceNorm3d),
  GroupNorm: (c) => onImages(c, 8, (channels) => new nn.GroupNorm(c.of([2, 4]), channels)),
  LayerNorm: (c) => {
    const size = width(c);
    return between(c, size, new nn.LayerNorm(size, { elementwiseAffine: affine(c) } as object));
  },
  RMSNorm: (c) => {
    const size = width(c);
    return between(c, size, new nn.RMSNorm(size));
  },
  LocalResponseNorm: (c) => onImages(c, 8, () => new nn.LocalResponseNorm(3)),
  Embedding: embedding,
  PReLU: (c) => {
    const size = width(c);
    return between(c, size, new nn.PReLU(c.of([1, size])));
  },
  Dropout: (c) => between(c, width(c), new nn.Dropout(0.3)),
  Dropout2d: (c) => onImages(c, 8, () => new nn.Dropout2d(0.3)),
  AlphaDropout: (c) => between(c, width(c), new nn.AlphaDropout(0.3)),
  FeatureAlphaDropout: (c) => onImages(c, 8, () => new nn.FeatureAlphaDropout(0.3)),
  MaxPool2d: (c) => onImages(c, 8, () => new nn.MaxPool2d(2, { stride: c.of([1, 2]) })),
  AvgPool2d: (c) => onImages(c, 8, () => new nn.AvgPool2d(2)),
  AdaptiveAvgPool2d: (c) => onImages(c, 8, () => new nn.AdaptiveAvgPool2d(3)),
  Softmax: (c) => between(c, width(c), new nn.Softmax(-1)),
  LogSoftmax: (c) => between(c, width(c), new nn.LogSoftmax(-1)),
  GELU: (c) => between(c, width(c), new nn.GELU()),
  RNNCell: cell(nn.RNNCell),
  GRUCell: cell(nn.GRUCell),
  LSTMCell: cell(nn.LSTMCell),
  RNN: recurrent(nn.RNN),
  GRU: recurrent(nn.GRU),
  LSTM: recurrent(nn.LSTM),
  MultiheadAttention: attention,
  TransformerEncoderLayer: transformer('encoder'),
  TransformerDecoderLayer: transformer('decoder'),
  TransformerEncoder: transformer('stack'),
  Transformer: transformer('whole'),
  ...families,
};
