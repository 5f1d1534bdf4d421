/** Every function and class that takes options, with valid values of them all. */

import { loadMnist } from '../../runtime/data/mnist.ts';
import { openWeights, saveSafetensors } from '../../runtime/weights/index.ts';
import { exportOnnx, exportStableHLO } from '../../src/export/index.ts';
import {
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits,
  cosineEmbeddingLoss,
  crossEntropy,
  data,
  gaussianNllLoss,
  hingeEmbeddingLoss,
  huberLoss,
  init,
  klDiv,
  l1Loss,
  marginRankingLoss,
  mseLoss,
  multilabelSoftMarginLoss,
  multiMarginLoss,
  nllLoss,
  nn,
  ones,
  optim,
  plot,
  plotPage,
  poissonNllLoss,
  printProgram,
  profiler,
  progress,
  scopeOf,
  smoothL1Loss,
  softMarginLoss,
  type Tensor,
  tensor,
  toStatic,
  traceLog,
  tripletMarginLoss,
} from '../../src/index.ts';
import { onnxruntimeBackend } from '../../src/onnxruntime/index.ts';
import { tostatic } from '../../src/plugin/index.ts';

export interface Taker {
  /** Valid values of all options that it has. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly call: (options: never) => unknown;
}

const taking = <O extends object>(options: Required<O>, call: (options: O) => unknown): Taker => ({
  options: options as Readonly<Record<string, unknown>>,
  call,
});

export const weights = () => [ones([2], { requiresGrad: true })];
const sgd = () => new optim.SGD(weights(), { lr: 0.1, momentum: 0.9 });
const rates = { lr: 0.1, weightDecay: 0.1, maximize: true };
const moments = { ...rates, betas: [0.9, 0.99] as const, eps: 1e-8 };
const recurrent = { bias: false, numLayers: 1, bidirectional: false, batchFirst: true, dropout: 0 };
const running = { eps: 1e-3, momentum: 0.1, affine: true, trackRunningStats: true };
const padded = { stride: 1, padding: 1, dilation: 1, groups: 1, bias: true, paddingMode: 'zeros' };
const transposed = { stride: 1, padding: 1, outputPadding: 0, groups: 1, dilation: 1, bias: true };
const layer = {
  dimFeedforward: 4,
  dropout: 0.1,
  activation: 'relu' as const,
  layerNormEps: 1e-5,
  batchFirst: true,
  normFirst: true,
  bias: false,
};

const window = { stride: 2, padding: 0, dilation: 1, ceilMode: true };
const average = {
  stride: 2,
  padding: 0,
  ceilMode: true,
  countIncludePad: true,
  divisorOverride: null,
};
const columns = { dilation: 1, padding: [0, 0] as const, stride: 1 };
const kaiming = { slope: 0.1, a: 0.1, mode: 'fanOut' as const, nonlinearity: 'relu' as const };
const curve = { title: 'loss', width: 20, height: 3, log: true };
const captured = () => {
  const double = toStatic((y: Tensor) => y.mul(2));
  double(ones([2]));
  return double;
};

const x = tensor([
  [0.2, 0.3],
  [0.4, 0.1],
]);
const labels = tensor([0, 1], { dtype: 'int32' });
const signs = tensor([1, -1]);
const reduction = 'sum' as const;
const weight = ones([2]);
const margins = { reduction, margin: 1 };

const losses: Readonly<Record<string, Taker>> = {
  mseLoss: taking({ reduction }, (o) => mseLoss(x, x, o)),
  l1Loss: taking({ reduction }, (o) => l1Loss(x, x, o)),
  softMarginLoss: taking({ reduction }, (o) => softMarginLoss(x, x, o)),
  nllLoss: taking({ reduction, weight, ignoreIndex: 0 }, (o) => nllLoss(x, labels, o)),
  crossEntropy: taking({ reduction, weight, ignoreIndex: 0, labelSmoothing: 0.1 }, (o) =>
    crossEntropy(x, labels, o),
  ),
  marginRankingLoss: taking(margins, (o) => marginRankingLoss(signs, signs, signs, o)),
  hingeEmbeddingLoss: taking(margins, (o) => hingeEmbeddingLoss(signs, signs, o)),
  cosineEmbeddingLoss: taking(margins, (o) => cosineEmbeddingLoss(x, x, signs, o)),
  tripletMarginLoss: taking({ ...margins, p: 2, eps: 1e-6, swap: true }, (o) =>
    tripletMarginLoss(x, x, x, o),
  ),
  multiMarginLoss: taking({ ...margins, p: 2, weight }, (o) => multiMarginLoss(x, labels, o)),
  multilabelSoftMarginLoss: taking({ reduction, weight }, (o) => multilabelSoftMarginLoss(x, x, o)),
  binaryCrossEntropy: taking({ reduction, weight }, (o) => binaryCrossEntropy(x, x, o)),
  binaryCrossEntropyWithLogits: taking({ reduction, weight, posWeight: weight }, (o) =>
    binaryCrossEntropyWithLogits(x, x, o),
  ),
  klDiv: taking({ reduction, logTarget: true }, (o) => klDiv(x, x, o)),
  smoothL1Loss: taking({ reduction, beta: 2 }, (o) => smoothL1Loss(x, x, o)),
  huberLoss: taking({ reduction, delta: 2 }, (o) => huberLoss(x, x, o)),
  poissonNllLoss: taking({ reduction, logInput: true, full: true, eps: 1e-8 }, (o) =>
    poissonNllLoss(x, x, o),
  ),
  gaussianNllLoss: taking({ reduction, full: true, eps: 1e-6 }, (o) => gaussianNllLoss(x, x, x, o)),
};

export const takers: Readonly<Record<string, Taker>> = {
  orthogonal: taking<nn.utils.OrthogonalOptions>(
    { orthogonalMap: 'cayley', useTrivialization: true },
    (o) => nn.utils.orthogonal(new nn.Linear(2, 2), 'weight', o),
  ),
  packPaddedSequence: taking({ batchFirst: true, enforceSorted: true }, (o) =>
    nn.utils.packPaddedSequence(ones([1, 2]), [2], o),
  ),
  padPackedSequence: taking({ batchFirst: true, paddingValue: 1, totalLength: 3 }, (o) =>
    nn.utils.padPackedSequence(nn.utils.packSequence([ones([2])]), o),
  ),
  packSequence: taking({ enforceSorted: true }, (o) => nn.utils.packSequence([ones([2])], o)),
  unpadSequence: taking({ batchFirst: true }, (o) =>
    nn.utils.unpadSequence(ones([2, 2]), [2, 2], o),
  ),
  padSequence: taking({ batchFirst: true, paddingValue: 1 }, (o) =>
    nn.utils.padSequence([ones([2])], o),
  ),
  'optim.SGD': taking<optim.SGDOptions>(
    { ...rates, momentum: 0.9, dampening: 0, nesterov: true },
    (o) => new optim.SGD(weights(), o),
  ),
  'optim.Adam': taking<optim.AdamOptions>(
    { ...moments, decoupledWeightDecay: true, amsgrad: true, stateBits: 8 },
    (o) => new optim.Adam(weights(), o),
  ),
  'optim.AdamW': taking<Omit<optim.AdamOptions, 'decoupledWeightDecay'>>(
    { ...moments, amsgrad: true, stateBits: 8 },
    (o) => new optim.AdamW(weights(), o),
  ),
  'optim.Adamax': taking<optim.AdamaxOptions>(moments, (o) => new optim.Adamax(weights(), o)),
  'optim.NAdam': taking<optim.NAdamOptions>(
    { ...moments, decoupledWeightDecay: true, momentumDecay: 4e-3 },
    (o) => new optim.NAdam(weights(), o),
  ),
  'optim.RAdam': taking<optim.RAdamOptions>(
    { ...moments, decoupledWeightDecay: true },
    (o) => new optim.RAdam(weights(), o),
  ),
  'optim.Adagrad': taking<optim.AdagradOptions>(
    { ...rates, lrDecay: 0.1, initialAccumulatorValue: 0.1, eps: 1e-10 },
    (o) => new optim.Adagrad(weights(), o),
  ),
  'optim.Adadelta': taking<optim.AdadeltaOptions>(
    { ...rates, rho: 0.9, eps: 1e-6 },
    (o) => new optim.Adadelta(weights(), o),
  ),
  'optim.RMSprop': taking<optim.RMSpropOptions>(
    { ...rates, alpha: 0.99, eps: 1e-8, momentum: 0.9, centered: true },
    (o) => new optim.RMSprop(weights(), o),
  ),
  'optim.Rprop': taking<optim.RpropOptions>(
    { lr: 0.1, maximize: true, etas: [0.5, 1.2], stepSizes: [1e-6, 50] },
    (o) => new optim.Rprop(weights(), o),
  ),
  'optim.Adafactor': taking<optim.AdafactorOptions>(
    { ...rates, beta2Decay: -0.5, eps: [null, 1e-3], d: 2 },
    (o) => new optim.Adafactor(weights(), o),
  ),
  'optim.Muon': taking<optim.MuonOptions>(
    {
      ...{ ...rates, momentum: 0.9, nesterov: true, eps: 1e-7, nsSteps: 3 },
      ...{ nsCoefficients: [3, -4, 2], adjustLrFn: 'original' },
    },
    (o) => new optim.Muon([ones([2, 2], { requiresGrad: true })], o),
  ),
  'optim.ASGD': taking<optim.ASGDOptions>(
    { ...rates, lambd: 1e-4, alpha: 0.75, t0: 10 },
    (o) => new optim.ASGD(weights(), o),
  ),
  'optim.LinearLR': taking<optim.LinearLROptions>(
    { startFactor: 0.5, endFactor: 1, totalIters: 3 },
    (o) => new optim.LinearLR(sgd(), o),
  ),
  'optim.OneCycleLR': taking<optim.OneCycleLROptions>(
    {
      maxLr: 0.1,
      totalSteps: 10,
      epochs: 2,
      stepsPerEpoch: 5,
      pctStart: 0.3,
      annealStrategy: 'linear',
      divFactor: 25,
      finalDivFactor: 1e4,
      threePhase: true,
      cycleMomentum: true,
      baseMomentum: 0.8,
      maxMomentum: 0.9,
    },
    (o) => new optim.OneCycleLR(sgd(), o),
  ),
  'optim.CyclicLR': taking<optim.CyclicLROptions>(
    {
      baseLr: 0.1,
      maxLr: 0.2,
      stepSizeUp: 3,
      stepSizeDown: 3,
      mode: 'triangular2',
      gamma: 1,
      scaleFn: () => 1,
      scaleMode: 'iterations',
      cycleMomentum: true,
      baseMomentum: 0.8,
      maxMomentum: 0.9,
    },
    (o) => new optim.CyclicLR(sgd(), o),
  ),
  'optim.ReduceLROnPlateau': taking<optim.ReduceLROnPlateauOptions>(
    {
      mode: 'max',
      factor: 0.1,
      patience: 3,
      threshold: 1e-4,
      thresholdMode: 'abs',
      cooldown: 1,
      minLr: 0.01,
      eps: 1e-8,
    },
    (o) => new optim.ReduceLROnPlateau(sgd(), o),
  ),
  'nn.Linear': taking({ bias: true }, (o) => new nn.Linear(2, 2, o)),
  'nn.Bilinear': taking({ bias: true }, (o) => new nn.Bilinear(2, 2, 2, o)),
  'nn.Conv1d': taking(padded as Required<nn.Conv1dLayerOptions>, (o) => new nn.Conv1d(2, 2, 3, o)),
  'nn.Conv2d': taking(padded as Required<nn.Conv2dLayerOptions>, (o) => new nn.Conv2d(2, 2, 3, o)),
  'nn.ConvTranspose1d': taking(transposed, (o) => new nn.ConvTranspose1d(2, 2, 3, o)),
  'nn.ConvTranspose2d': taking(transposed, (o) => new nn.ConvTranspose2d(2, 2, 3, o)),
  'nn.BatchNorm1d': taking(running, (o) => new nn.BatchNorm1d(2, o)),
  'nn.BatchNorm2d': taking(running, (o) => new nn.BatchNorm2d(2, o)),
  'nn.BatchNorm3d': taking(running, (o) => new nn.BatchNorm3d(2, o)),
  'nn.InstanceNorm1d': taking(running, (o) => new nn.InstanceNorm1d(2, o)),
  'nn.InstanceNorm2d': taking(running, (o) => new nn.InstanceNorm2d(2, o)),
  'nn.InstanceNorm3d': taking(running, (o) => new nn.InstanceNorm3d(2, o)),
  'nn.GroupNorm': taking({ eps: 1e-5, affine: true }, (o) => new nn.GroupNorm(1, 2, o)),
  'nn.LayerNorm': taking(
    { eps: 1e-5, elementwiseAffine: true, bias: true },
    (o) => new nn.LayerNorm(2, o),
  ),
  'nn.RMSNorm': taking({ eps: 1e-5, elementwiseAffine: true }, (o) => new nn.RMSNorm(2, o)),
  'nn.RNN': taking({ ...recurrent, nonlinearity: 'relu' as const }, (o) => new nn.RNN(2, 2, o)),
  'nn.GRU': taking(recurrent, (o) => new nn.GRU(2, 2, o)),
  'nn.LSTM': taking(recurrent, (o) => new nn.LSTM(2, 2, o)),
  'nn.RNNCell': taking(
    { bias: true, nonlinearity: 'relu' as const },
    (o) => new nn.RNNCell(2, 2, o),
  ),
  'nn.GRUCell': taking({ bias: true }, (o) => new nn.GRUCell(2, 2, o)),
  'nn.LSTMCell': taking({ bias: true }, (o) => new nn.LSTMCell(2, 2, o)),
  'nn.MultiheadAttention': taking(
    {
      dropout: 0.1,
      bias: true,
      addBiasKv: true,
      addZeroAttn: true,
      kdim: 4,
      vdim: 4,
      batchFirst: true,
    },
    (o) => new nn.MultiheadAttention(4, 2, o),
  ),
  'nn.TransformerEncoderLayer': taking(layer, (o) => new nn.TransformerEncoderLayer(4, 2, o)),
  'nn.TransformerDecoderLayer': taking(layer, (o) => new nn.TransformerDecoderLayer(4, 2, o)),
  'nn.Transformer': taking(
    { ...layer, dModel: 4, nhead: 2, numEncoderLayers: 1, numDecoderLayers: 1 },
    (o) => new nn.Transformer(o),
  ),
  'nn.Embedding': taking(
    { paddingIdx: 0, maxNorm: 1, normType: 2, scaleGradByFreq: true },
    (o) => new nn.Embedding(3, 2, o),
  ),
  'nn.Embedding.fromPretrained': taking(
    { paddingIdx: 0, maxNorm: 1, normType: 2, scaleGradByFreq: true, freeze: true },
    (o) => nn.Embedding.fromPretrained(ones([3, 2]), o),
  ),
  'nn.MaxPool1d': taking(window, (o) => new nn.MaxPool1d(2, o)),
  'nn.MaxPool2d': taking(window, (o) => new nn.MaxPool2d(2, o)),
  'nn.AdaptiveMaxPool1d': taking(
    { returnIndices: true as const },
    (o) => new nn.AdaptiveMaxPool1d(2, o),
  ),
  'nn.AdaptiveMaxPool2d': taking(
    { returnIndices: true as const },
    (o) => new nn.AdaptiveMaxPool2d(2, o),
  ),
  'nn.AdaptiveMaxPool3d': taking(
    { returnIndices: true as const },
    (o) => new nn.AdaptiveMaxPool3d(2, o),
  ),
  'nn.AvgPool1d': taking(average, (o) => new nn.AvgPool1d(2, o)),
  'nn.AvgPool2d': taking(average, (o) => new nn.AvgPool2d(2, o)),
  'nn.AvgPool3d': taking(average, (o) => new nn.AvgPool3d(2, o)),
  'nn.AdaptiveLogSoftmaxWithLoss': taking(
    { divValue: 2, headBias: true },
    (o) => new nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2], o),
  ),
  'nn.LPPool1d': taking({ stride: 2, ceilMode: true }, (o) => new nn.LPPool1d(2, 2, o)),
  'nn.LPPool2d': taking({ stride: 2, ceilMode: true }, (o) => new nn.LPPool2d(2, 2, o)),
  'nn.LPPool3d': taking({ stride: 2, ceilMode: true }, (o) => new nn.LPPool3d(2, 2, o)),
  'nn.Upsample': taking(
    {
      size: [4, 4],
      scaleFactor: 2,
      mode: 'bilinear' as const,
      alignCorners: true,
      recomputeScaleFactor: true,
    },
    (o) => new nn.Upsample(o),
  ),
  'nn.Unfold': taking(columns, (o) => new nn.Unfold(2, o)),
  'nn.Fold': taking(columns, (o) => new nn.Fold(4, 2, o)),
  'nn.PairwiseDistance': taking(
    { p: 1, eps: 1e-6, keepDim: true },
    (o) => new nn.PairwiseDistance(o),
  ),
  'nn.buffer': taking({ persistent: false }, (o) => nn.buffer(ones([1]), o)),
  'nn.init.kaimingUniform_': taking(kaiming, (o) => nn.init.kaimingUniform_(ones([2, 2]), o)),
  'nn.init.kaimingNormal_': taking(kaiming, (o) => nn.init.kaimingNormal_(ones([2, 2]), o)),
  'Module.loadStateDict': taking({ strict: true, names: (name: string) => name }, (o) => {
    const linear = new nn.Linear(2, 2);
    return linear.loadStateDict(linear.stateDict(), o);
  }),
  'data.SubsetRandomSampler': taking({ seed: 1 }, (o) => new data.SubsetRandomSampler([1, 2], o)),
  'data.WeightedRandomSampler': taking(
    { replacement: true, seed: 1 },
    (o) => new data.WeightedRandomSampler([1, 2], 2, o),
  ),
  'data.ImageDataset': taking(
    { height: 2, width: 2, mean: 0.5, std: 0.25 },
    (o) => new data.ImageDataset(new Uint8Array(4), new Uint8Array(1), o),
  ),
  loadMnist: taking({ normalize: false }, (o) => loadMnist(undefined, o)),
  plot: taking(curve, (o) => plot([1, 2], o)),
  plotPage: taking(curve, (o) => plotPage([1, 2], o)),
  progress: taking({ label: 'epoch', total: 3, to: null }, (o) => progress([1], o)),
  'Profile.report': taking({ sort: 'total' as const, limit: 3 }, (o) =>
    profiler.profile(() => {}).profile.report(o),
  ),
  traceLog: taking({ modules: ['op'] as const }, (o) => traceLog(() => {}, o)()),
  printProgram: taking({ positions: 'none' as const }, (o) =>
    printProgram(captured().programs()[0]!.stages!.forward, o),
  ),
  'captured.explain': taking({ guards: true, as: 'text' as const }, (o) => captured().explain(o)),
  scopeOf: taking({ scope: {} }, (o) => scopeOf(() => 1, o)),
  openWeights: taking({ format: 'safetensors' as const }, async (o) =>
    (await openWeights(await saveSafetensors({ a: ones([1]) }), o)).close(),
  ),
  saveSafetensors: taking({ metadata: { by: 'test' } }, (o) =>
    saveSafetensors({ a: ones([1]) }, undefined, o),
  ),
  'Weights.loadInto': taking({ strict: true, names: (name: string) => name }, async (o) => {
    const linear = new nn.Linear(2, 2);
    const weights = await openWeights(await saveSafetensors(linear.stateDict()));
    return weights.loadInto(linear, o);
  }),
  exportOnnx: taking({ program: 0, sizes: 'fixed' as const, externalData: 'weights.bin' }, (o) =>
    exportOnnx(captured(), o),
  ),
  exportStableHLO: taking({ program: 0, maxIterations: 3 }, (o) => exportStableHLO(captured(), o)),
  onnxruntimeBackend: taking({ folder: '.', session: {} }, (o) => onnxruntimeBackend(o)),
  'tostatic.rollup': taking(
    { include: 'a', exclude: [/b/], root: null, sourceText: true, probe: 'tostatic/probe' },
    (o) => tostatic.rollup(o),
  ),
  'data.RandomSampler': taking(
    { replacement: true, numSamples: 2, seed: 1 },
    (o) => new data.RandomSampler([1, 2, 3], o),
  ),
  ...losses,
  init: taking({ threads: 1 }, (o) => init('cpu', o)),
};
