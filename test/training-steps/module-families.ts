/** Modules whose steps differ in little: each family in one step, where all of its modules take part. */

import { nn, randint, randn, relu, type Tensor, tensor } from '../../src/index.ts';
import type { Choices } from './choices.ts';
import type { Make } from './modules.ts';

type Layer = nn.Module & { forward(x: Tensor): Tensor };

const through = (layers: readonly Layer[], x: Tensor): Tensor =>
  layers.reduce((y, layer) => layer.forward(y), x);

/** The sum of what functions of one element make of the rows of a layer. */
const pointwise =
  (make: (choices: Choices, width: number) => readonly Layer[]): Make =>
  (choices) => {
    const width = choices.of([16, 36, 64]);
    const [rows, inputs] = [choices.of([64, 128, 256]), choices.of([8, 16, 33])];
    const [first, last] = [new nn.Linear(inputs, width), new nn.Linear(width, width)];
    const layers = make(choices, width);
    return {
      modules: [first, ...layers, last],
      input: () => [randn([rows, inputs])],
      forward: (given) => {
        const x = first.forward(given);
        return last.forward(layers.reduce((sum, layer) => sum.add(layer.forward(x)), x));
      },
    };
  };

/** One layer after the other, behind a convolution. */
function chain(first: Layer, layers: readonly Layer[], input: () => Tensor) {
  const modules = [first, ...layers];
  return {
    modules,
    input: () => [input()],
    forward: (x: Tensor) => through(layers, relu(first.forward(x))),
  };
}

const onSequences: Make = (choices) => {
  const [count, length] = [choices.of([8, 16, 32]), choices.of([16, 32])];
  const layers = [
    new nn.ConstantPad1d(1, 0.5),
    new nn.ReflectionPad1d([1, 2]),
    new nn.MaxPool1d(2, { stride: choices.of([1, 2]) }),
    new nn.ReplicationPad1d(1),
    new nn.AvgPool1d(2, { stride: 1 }),
    new nn.CircularPad1d(2),
    new nn.Dropout1d(0.2),
    new nn.ZeroPad1d([0, 1]),
    new nn.LPPool1d(2, 3, { stride: 1 }),
    new nn.AdaptiveMaxPool1d(8),
    new nn.AdaptiveAvgPool1d(5),
  ];
  return chain(new nn.Conv1d(4, 8, 3, { padding: 1 }), layers, () => randn([count, 4, length]));
};

const onPlanes: Make = (choices) => {
  const [count, size] = [choices.of([4, 8, 16]), choices.of([8, 12])];
  const layers = [
    new nn.Softmax2d(),
    new nn.ReflectionPad2d(1),
    new nn.ReplicationPad2d([1, 0, 0, 1]),
    new nn.CircularPad2d(1),
    new nn.ConstantPad2d(1, 0.5),
    new nn.ZeroPad2d(1),
    new nn.AdaptiveMaxPool2d([6, 6]),
    new nn.LPPool2d(2, 1),
    new nn.Identity(),
  ];
  return chain(new nn.Conv2d(3, 4, 3), layers, () => randn([count, 3, size, size]));
};

const rearranged: Make = (choices) => {
  const count = choices.of([4, 8, 16]);
  const layers = [
    new nn.ChannelShuffle(2),
    new nn.PixelShuffle(2),
    new nn.PixelUnshuffle(2),
    new nn.Upsample({ scaleFactor: 2, mode: choices.of(['nearest', 'bilinear', 'bicubic']) }),
    new nn.UpsamplingNearest2d({ size: [6, 6] }),
    new nn.UpsamplingBilinear2d({ size: [8, 8] }),
    new nn.Unfold(2, { stride: choices.of([1, 2]), padding: 1 }),
    new nn.Flatten(1),
  ];
  const first = new nn.Conv2d(3, 8, 3);
  const folding = new nn.Fold(5, 2);
  const rows = new nn.Unflatten(1, [16, 16]);
  const input = () => [randn([count, 3, 6, 6]), randn([count, 256])];
  const forward = (x: Tensor, y: Tensor) => {
    const flat = through(layers, relu(first.forward(x)));
    const folded = folding.forward(rows.forward(y)).sum([1, 2]);
    return flat.mul(folded.mean(-1, { keepDim: true }));
  };
  return { modules: [first, ...layers, folding, rows], input, forward };
};

const onVolumes: Make = (choices) => {
  const layers = [
    new nn.ConstantPad3d(1, 0.5),
    new nn.ReflectionPad3d([0, 1, 0, 0, 0, 0]),
    new nn.ReplicationPad3d([0, 0, 1, 0, 0, 0]),
    new nn.CircularPad3d([0, 0, 0, 0, 0, 1]),
    new nn.MaxPool3d(2, { stride: choices.of([1, 2]) }),
    new nn.ZeroPad3d(1),
    new nn.Dropout3d(0.2),
    new nn.AvgPool3d(2, { stride: 1 }),
    new nn.LPPool3d(2, 1),
    new nn.AdaptiveAvgPool3d(3),
    new nn.ConvTranspose3d(4, 4, 2),
    new nn.AdaptiveMaxPool3d([2, 3, 3]),
  ];
  const first = new nn.Conv3d(2, 4, choices.of([2, 3]), { padding: choices.of([0, 1]) });
  const count = choices.of([2, 4, 8]);
  return chain(first, layers, () => randn([count, 2, 5, 6, 6]));
};

/** Maxima of a convolution, put back where they were. */
const unpooled: Make = (choices) => {
  const [count, size] = [choices.of([2, 4, 8]), choices.of([8, 12])];
  const options = { returnIndices: true } as const;
  const lines = [new nn.MaxPool1d(2, options), new nn.MaxUnpool1d(2)] as const;
  const planes = [new nn.MaxPool2d(2, options), new nn.MaxUnpool2d(2)] as const;
  const volumes = [new nn.MaxPool3d(2, options), new nn.MaxUnpool3d(2)] as const;
  const [first, last] = [new nn.Conv1d(2, 4, 3, { padding: 1 }), new nn.Conv1d(4, 4, 1)];
  const forward = (given: Tensor) => {
    const x = first.forward(given);
    const [most, at] = lines[0].forward(x);
    const [widest, inPlane] = planes[0].forward(x.reshape([count, 1, 4, size]));
    const [largest, inVolume] = volumes[0].forward(x.reshape([count, 1, 2, 2, size]));
    const back = [
      lines[1].forward(most, at),
      planes[1].forward(widest, inPlane).reshape(x.shape),
      volumes[1].forward(largest, inVolume).reshape(x.shape),
    ];
    return last.forward(back.reduce((sum, each) => sum.add(each)));
  };
  const modules = [first, ...lines, ...planes, ...volumes, last];
  return { modules, input: () => [randn([count, 2, size])], forward };
};

/** The sum of all losses of the rows of a layer, added to the rows. */
const losses: Make = (choices) => {
  const [rows, width] = [choices.of([32, 64, 128]), choices.of([8, 16])];
  const options = { reduction: choices.of(['mean', 'sum'] as const) };
  const first = new nn.Linear(12, width);
  const ofNumbers = [
    new nn.MSELoss(options),
    new nn.L1Loss(options),
    new nn.SmoothL1Loss(options),
    new nn.HuberLoss(options),
    new nn.PoissonNLLLoss(options),
    new nn.BCEWithLogitsLoss(options),
    new nn.MultiLabelSoftMarginLoss(options),
  ];
  const ofSigns = [new nn.SoftMarginLoss(options), new nn.HingeEmbeddingLoss(options)];
  const ofShares = [new nn.BCELoss(options), new nn.KLDivLoss(options)];
  const ofLabels = [new nn.CrossEntropyLoss(options), new nn.MultiMarginLoss(options)];
  const ofSeveral = new nn.MultiLabelMarginLoss(options);
  const adaptive = new nn.AdaptiveLogSoftmaxWithLoss(width, width, [2, 4]);
  const nll = new nn.NLLLoss(options);
  const gaussian = new nn.GaussianNLLLoss(options);
  const cosine = new nn.CosineEmbeddingLoss(options);
  const ranking = new nn.MarginRankingLoss(options);
  const triplet = new nn.TripletMarginLoss(options);
  const byDistance = new nn.TripletMarginWithDistanceLoss({
    ...options,
    distanceFunction: (x, y) => x.sub(y).abs().sum(1),
  });
  const [similarity, distance] = [new nn.CosineSimilarity(1), new nn.PairwiseDistance()];
  const forward = (x: Tensor, other: Tensor, labels: Tensor, several: Tensor): Tensor => {
    const y = first.forward(x);
    const share = other.sigmoid();
    const signs = other.ge(0).to('float32').mul(2).sub(1);
    const terms = [
      ...ofNumbers.map((loss) => loss.forward(y, share)),
      ...ofSigns.map((loss) => loss.forward(y, signs)),
      ...ofShares.map((loss) => loss.forward(y.sigmoid(), share)),
      ...ofLabels.map((loss) => loss.forward(y, labels)),
      ofSeveral.forward(y, several),
      adaptive.forward(y, labels).loss,
      nll.forward(y.logSoftmax(1), labels),
      gaussian.forward(y, other, share),
      cosine.forward(y, other, signs.select(1, 0)),
      ranking.forward(y.select(1, 0), y.select(1, 1), signs.select(1, 0)),
      triplet.forward(y, other, share),
      byDistance.forward(y, other, share),
      similarity.forward(y, other).sum(),
      distance.forward(y, other).sum(),
    ];
    return y.add(terms.reduce((sum, term) => sum.add(term)).mul(0.01));
  };
  const modules = [first, ...ofNumbers, ...ofSigns, ...ofShares, ...ofLabels, ofSeveral, nll];
  return {
    modules: [
      ...modules,
      adaptive,
      gaussian,
      cosine,
      ranking,
      triplet,
      byDistance,
      similarity,
      distance,
    ],
    input: () => [
      ...[randn([rows, 12]), randn([rows, width]), labelsOf(rows, width)],
      twoLabelsOf(rows, width),
    ],
    forward,
  };
};

/** Two labels a row, and no more. */
const twoLabelsOf = (rows: number, classes: number): Tensor =>
  tensor(
    Int32Array.from({ length: rows * classes }, (_, i) => {
      const [row, place] = [Math.floor(i / classes), i % classes];
      return place < 2 ? (row * 3 + place) % classes : -1;
    }),
    { shape: [rows, classes] },
  );

const labelsOf = (rows: number, classes: number): Tensor =>
  tensor(Int32Array.from({ length: rows }, (_, i) => (i * 5) % classes));

const ctc: Make = (choices) => {
  const [steps, batch, classes] = [choices.of([8, 12]), choices.of([4, 8]), choices.of([5, 8])];
  const [first, loss] = [new nn.Linear(6, classes), new nn.CTCLoss()];
  const forward = (x: Tensor, labels: Tensor) => {
    const scores = first.forward(x);
    const lengths = [Array(batch).fill(steps), Array(batch).fill(3)] as const;
    return scores.add(loss.forward(scores.logSoftmax(-1), labels, ...lengths));
  };
  const input = () => [randn([steps, batch, 6]), randint(1, classes, [batch, 3])];
  return { modules: [first, loss], input, forward };
};

const bags: Make = (choices) => {
  const [entries, width] = [choices.of([20, 50]), choices.of([16, 32])];
  const [batch, steps] = [choices.of([16, 32, 64]), choices.of([4, 8])];
  const mode = choices.of(['sum', 'mean', 'max'] as const);
  const [module, last] = [
    new nn.EmbeddingBag(entries, width, { mode }),
    new nn.Linear(width, width),
  ];
  const input = () => [labelsOf(batch * steps, entries).reshape([batch, steps])];
  return { modules: [module, last], input, forward: (x) => relu(last.forward(module.forward(x))) };
};

const decoder: Make = (choices) => {
  const width = 2 * choices.of([4, 8]);
  const [batch, steps] = [choices.of([4, 8]), choices.of([2, 4])];
  const options = { dimFeedforward: 16, dropout: choices.of([0, 0.1]), batchFirst: true };
  const layer = () => new nn.TransformerDecoderLayer(width, 2, options);
  const module = new nn.TransformerDecoder(layer, 1, new nn.LayerNorm(width));
  const input = () => [randn([batch, steps, width]), randn([batch, steps, width])];
  return { modules: [module], input, forward: (x, y) => module.forward(x, y) };
};

const containers: Make = (choices) => {
  const [rows, width] = [choices.of([64, 128]), choices.of([16, 32])];
  const layer = () => new nn.Linear(width, width);
  const list = new nn.ModuleList([layer(), layer()]);
  const named = new nn.ModuleDict({ a: layer(), b: layer() });
  const scales = new nn.ParameterList([randn([width]), randn([width])]);
  const shifts = new nn.ParameterDict({ c: randn([width]) });
  const first = new nn.Sequential(new nn.Linear(8, width), new nn.ReLU(), layer());
  const forward = (given: Tensor) => {
    let x = first.forward(given);
    for (const each of list) x = relu((each as nn.Linear).forward(x));
    for (const [, each] of named) x = relu((each as nn.Linear).forward(x));
    for (const scale of scales) x = x.mul(scale);
    return x.add(shifts.get('c')!);
  };
  return {
    modules: [first, list, named, scales, shifts],
    input: () => [randn([rows, 8])],
    forward,
  };
};

/** Two copies side by side. */
class Doubled extends nn.Module {
  override forward(x: Tensor): Tensor {
    return x.repeat([1, 2]);
  }
}

/** By the name of the family. */
export const families: Readonly<Record<string, Make>> = {
  'smooth functions': pointwise(() => [
    new nn.Tanh(),
    new nn.Sigmoid(),
    new nn.LogSigmoid(),
    new nn.SELU(),
    new nn.SiLU(),
    new nn.Mish(),
    new nn.Softsign(),
    new nn.ELU(1),
    new nn.CELU(1),
    new nn.Softplus(1, 20),
    new nn.Tanhshrink(),
    new nn.Softmin(-1),
  ]),
  'functions with edges': pointwise((choices) => [
    new nn.ReLU(),
    new nn.ReLU6(),
    new nn.Hardsigmoid(),
    new nn.Hardswish(),
    new nn.LeakyReLU(0.1),
    new nn.Hardtanh(-1, 1),
    new nn.Hardshrink(0.5),
    new nn.Softshrink(0.5),
    new nn.Threshold(choices.of([0, 0.5]), 0),
    new nn.RReLU(0.1, 0.3),
    new nn.Sequential(
      new nn.Unflatten(1, [2, -1]),
      new nn.GLU(1),
      new nn.Flatten(1),
      new Doubled(),
    ),
  ]),
  'layers on sequences': onSequences,
  'layers on planes': onPlanes,
  'layers that rearrange': rearranged,
  'layers on volumes': onVolumes,
  'pooling and its inverse': unpooled,
  losses,
  CTCLoss: ctc,
  EmbeddingBag: bags,
  TransformerDecoder: decoder,
  containers,
};
