/** Modules that are one function: each gives what the function gives. */

import { describe, expect, it } from 'vitest';
import * as runtime from '../../runtime/index.ts';
import { allocated, type Tensor, tensor } from '../ops/eager.ts';

const { nn } = runtime;
const image = () => runtime.randn([2, 4, 6, 6]);
const line = () => runtime.randn([2, 4, 8]);
const volume = () => runtime.randn([1, 2, 4, 4, 4]);
const label = () => tensor(Int32Array.of(1, 0, 3));
const scores = () => runtime.randn([3, 4]);
const signs = () => tensor([1, -1, 1]);
const shares = () => runtime.rand([3, 4]);

interface Case {
  readonly module: runtime.nn.Module;
  readonly inputs: () => Tensor[];
  readonly same: (...inputs: Tensor[]) => Tensor;
}

const one = (
  module: runtime.nn.Module,
  input: () => Tensor,
  same: (x: Tensor) => Tensor,
): Case => ({ module, inputs: () => [input()], same: same as Case['same'] });

const two = (
  module: runtime.nn.Module,
  inputs: () => Tensor[],
  same: (...inputs: Tensor[]) => Tensor,
): Case => ({ module, inputs, same });

const transposed = new nn.ConvTranspose3d(2, 4, 2, { stride: 2, groups: 2 });

const none = { reduction: 'none' } as const;

const cases: Readonly<Record<string, Case>> = {
  MaxPool1d: one(new nn.MaxPool1d(2), line, (x) => runtime.maxPool1d(x, 2)),
  MaxPool2d: one(new nn.MaxPool2d(3, { stride: 2, padding: 1 }), image, (x) =>
    runtime.maxPool2d(x, 3, { stride: 2, padding: 1 }),
  ),
  AvgPool1d: one(new nn.AvgPool1d(2), line, (x) => runtime.avgPool1d(x, 2)),
  AvgPool2d: one(new nn.AvgPool2d([2, 3]), image, (x) => runtime.avgPool2d(x, [2, 3])),
  AvgPool3d: one(new nn.AvgPool3d(2), volume, (x) => runtime.avgPool3d(x, 2)),
  LPPool1d: one(new nn.LPPool1d(2, 2), line, (x) => x.mul(x).reshape([2, 4, 4, 2]).sum(-1).sqrt()),
  LPPool2d: one(new nn.LPPool2d(2, [1, 2]), image, (x) =>
    runtime.avgPool2d(x.mul(x), [1, 2]).mul(2).sqrt(),
  ),
  LPPool3d: one(new nn.LPPool3d(2, [2, 1, 2], { stride: 1 }), volume, (x) =>
    runtime.avgPool3d(x.mul(x), [2, 1, 2], { stride: 1 }).mul(4).sqrt(),
  ),
  AdaptiveAvgPool1d: one(new nn.AdaptiveAvgPool1d(3), line, (x) => runtime.adaptiveAvgPool1d(x, 3)),
  AdaptiveAvgPool2d: one(new nn.AdaptiveAvgPool2d([2, null]), image, (x) =>
    runtime.adaptiveAvgPool2d(x, [2, null]),
  ),
  AdaptiveAvgPool3d: one(new nn.AdaptiveAvgPool3d(2), volume, (x) =>
    runtime.adaptiveAvgPool3d(x, 2),
  ),
  AdaptiveMaxPool1d: one(new nn.AdaptiveMaxPool1d(3), line, (x) => runtime.adaptiveMaxPool1d(x, 3)),
  AdaptiveMaxPool2d: one(new nn.AdaptiveMaxPool2d(2), image, (x) =>
    runtime.adaptiveMaxPool2d(x, 2),
  ),
  AdaptiveMaxPool3d: one(new nn.AdaptiveMaxPool3d(2), volume, (x) =>
    runtime.adaptiveMaxPool3d(x, 2),
  ),
  ConvTranspose3d: one(transposed, volume, (x) =>
    runtime.convTranspose3d(x, transposed.weight, transposed.bias, { stride: 2, groups: 2 }),
  ),
  MaxUnpool1d: two(
    new nn.MaxUnpool1d(2),
    () => new nn.MaxPool1d(2, { returnIndices: true }).forward(line()),
    (x, at) => runtime.maxUnpool1d(x!, at!, 2),
  ),
  MaxUnpool2d: two(
    new nn.MaxUnpool2d(3),
    () => new nn.MaxPool2d(3, { returnIndices: true }).forward(image()),
    (x, at) => runtime.maxUnpool2d(x!, at!, 3),
  ),
  MaxUnpool3d: two(
    new nn.MaxUnpool3d(2),
    () => new nn.MaxPool3d(2, { returnIndices: true }).forward(volume()),
    (x, at) => runtime.maxUnpool3d(x!, at!, 2),
  ),
  Upsample: one(new nn.Upsample({ scaleFactor: 2, mode: 'bilinear' }), image, (x) =>
    runtime.interpolate(x, { scaleFactor: 2, mode: 'bilinear' }),
  ),
  UpsamplingNearest2d: one(new nn.UpsamplingNearest2d({ size: [3, 9] }), image, (x) =>
    runtime.interpolate(x, { size: [3, 9], mode: 'nearest' }),
  ),
  UpsamplingBilinear2d: one(new nn.UpsamplingBilinear2d({ size: 9 }), image, (x) =>
    runtime.interpolate(x, { size: 9, mode: 'bilinear', alignCorners: true }),
  ),
  Unfold: one(new nn.Unfold(3, { padding: 1 }), image, (x) => runtime.im2col(x, 3, { padding: 1 })),
  Fold: one(
    new nn.Fold(6, 2, { stride: 2 }),
    () => runtime.randn([2, 8, 9]),
    (x) => runtime.col2im(x, 6, 2, { stride: 2 }),
  ),
  LocalResponseNorm: one(new nn.LocalResponseNorm(3), image, (x) =>
    runtime.localResponseNorm(x, 3),
  ),
  Threshold: one(new nn.Threshold(0.1, 20), scores, (x) => runtime.threshold(x, 0.1, 20)),
  Hardshrink: one(new nn.Hardshrink(), scores, (x) => runtime.hardshrink(x)),
  Softshrink: one(new nn.Softshrink(0.2), scores, (x) => runtime.softshrink(x, 0.2)),
  Tanhshrink: one(new nn.Tanhshrink(), scores, (x) => runtime.tanhshrink(x)),
  CELU: one(new nn.CELU(0.5), scores, (x) => runtime.celu(x, 0.5)),
  GLU: one(new nn.GLU(), scores, (x) => runtime.glu(x)),
  RReLU: one(new nn.RReLU(0.1, 0.3).eval(), scores, (x) => runtime.leakyRelu(x, 0.2)),
  Softmin: one(new nn.Softmin(0), scores, (x) => runtime.softmin(x, 0)),
  Softmax2d: one(new nn.Softmax2d(), image, (x) => runtime.softmax(x, 1)),
  CosineSimilarity: two(
    new nn.CosineSimilarity(),
    () => [scores(), scores()],
    (x, y) => runtime.cosineSimilarity(x!, y!),
  ),
  PairwiseDistance: two(
    new nn.PairwiseDistance({ p: 1 }),
    () => [scores(), scores()],
    (x, y) => runtime.pairwiseDistance(x!, y!, { p: 1 }),
  ),
  L1Loss: two(
    new nn.L1Loss(none),
    () => [scores(), scores()],
    (x, y) => runtime.l1Loss(x!, y!, none),
  ),
  SmoothL1Loss: two(
    new nn.SmoothL1Loss({ beta: 0.5 }),
    () => [scores(), scores()],
    (x, y) => runtime.smoothL1Loss(x!, y!, { beta: 0.5 }),
  ),
  HuberLoss: two(
    new nn.HuberLoss({ delta: 0.5 }),
    () => [scores(), scores()],
    (x, y) => runtime.huberLoss(x!, y!, { delta: 0.5 }),
  ),
  CrossEntropyLoss: two(
    new nn.CrossEntropyLoss({ labelSmoothing: 0.1, reduction: 'sum' }),
    () => [scores(), label()],
    (x, y) => runtime.crossEntropy(x!, y!, { labelSmoothing: 0.1, reduction: 'sum' }),
  ),
  BCELoss: two(
    new nn.BCELoss(),
    () => [shares(), shares()],
    (x, y) => runtime.binaryCrossEntropy(x!, y!),
  ),
  KLDivLoss: two(
    new nn.KLDivLoss({ reduction: 'batchmean' }),
    () => [scores(), shares()],
    (x, y) => runtime.klDiv(x!, y!, { reduction: 'batchmean' }),
  ),
  PoissonNLLLoss: two(
    new nn.PoissonNLLLoss(),
    () => [scores(), shares()],
    (x, y) => runtime.poissonNllLoss(x!, y!),
  ),
  GaussianNLLLoss: two(
    new nn.GaussianNLLLoss(),
    () => [scores(), scores(), shares()],
    (x, y, variance) => runtime.gaussianNllLoss(x!, y!, variance!),
  ),
  SoftMarginLoss: two(
    new nn.SoftMarginLoss(),
    () => [runtime.randn([3]), signs()],
    (x, y) => runtime.softMarginLoss(x!, y!),
  ),
  HingeEmbeddingLoss: two(
    new nn.HingeEmbeddingLoss(),
    () => [runtime.randn([3]), signs()],
    (x, y) => runtime.hingeEmbeddingLoss(x!, y!),
  ),
  CosineEmbeddingLoss: two(
    new nn.CosineEmbeddingLoss({ margin: 0.2 }),
    () => [scores(), scores(), signs()],
    (x, y, sign) => runtime.cosineEmbeddingLoss(x!, y!, sign!, { margin: 0.2 }),
  ),
  MarginRankingLoss: two(
    new nn.MarginRankingLoss({ margin: 0.2 }),
    () => [runtime.randn([3]), runtime.randn([3]), signs()],
    (x, y, sign) => runtime.marginRankingLoss(x!, y!, sign!, { margin: 0.2 }),
  ),
  TripletMarginLoss: two(
    new nn.TripletMarginLoss({ swap: true }),
    () => [scores(), scores(), scores()],
    (a, p, n) => runtime.tripletMarginLoss(a!, p!, n!, { swap: true }),
  ),
  TripletMarginWithDistanceLoss: two(
    new nn.TripletMarginWithDistanceLoss({ swap: true }),
    () => [scores(), scores(), scores()],
    (a, p, n) => runtime.tripletMarginWithDistanceLoss(a!, p!, n!, { swap: true }),
  ),
  MultiMarginLoss: two(
    new nn.MultiMarginLoss({ p: 2 }),
    () => [scores(), label()],
    (x, y) => runtime.multiMarginLoss(x!, y!, { p: 2 }),
  ),
  MultiLabelMarginLoss: two(
    new nn.MultiLabelMarginLoss(),
    () => [
      scores(),
      tensor(Int32Array.of(1, 0, -1, 2, 3, -1, -1, 0, 2, 1, 0, 3), { shape: [3, 4] }),
    ],
    (x, y) => runtime.multilabelMarginLoss(x!, y!),
  ),
  MultiLabelSoftMarginLoss: two(
    new nn.MultiLabelSoftMarginLoss(),
    () => [scores(), shares()],
    (x, y) => runtime.multilabelSoftMarginLoss(x!, y!),
  ),
};

describe('modules that are one function', () => {
  for (const [name, { module, inputs, same }] of Object.entries(cases)) {
    it(name, () => {
      expect(module.constructor.name).toBe(name);
      const before = allocated();
      runtime.tidy(() => {
        const given = inputs();
        const forward = module.forward.bind(module) as (...inputs: Tensor[]) => Tensor;
        const [found, expected] = [forward(...given), same(...given)];
        expect(found.shape).toEqual(expected.shape);
        expect([...found.dataSync()]).toEqual([...expected.dataSync()]);
      });
      expect(allocated()).toBe(before);
    });
  }

  it('weights of losses are part of the module', () => {
    runtime.tidy(() => {
      using loss = new nn.BCEWithLogitsLoss({
        weight: tensor([1, 2, 3, 4]),
        posWeight: tensor([2, 2, 2, 2]),
      });
      expect(Object.keys(loss.stateDict())).toEqual(['weight', 'posWeight']);
      const [x, y] = [scores(), shares()];
      const { weight, posWeight } = loss;
      const expected = runtime.binaryCrossEntropyWithLogits(x, y, { weight, posWeight });
      expect(loss.forward(x, y).itemSync()).toBe(expected.itemSync());
      using byClass = new nn.NLLLoss({ weight: tensor([1, 2, 3, 4]), ignoreIndex: 3 });
      const found = byClass.forward(x, label());
      const same = runtime.nllLoss(x, label(), { weight: byClass.weight, ignoreIndex: 3 });
      expect(found.itemSync()).toBe(same.itemSync());
      byClass.to('meta');
      expect(byClass.weight!.device.name).toBe('meta');
    });
  });

  it('RReLU draws slopes while training', () => {
    runtime.tidy(() => {
      const y = new nn.RReLU(0.1, 0.3).forward(runtime.full([1000], -1));
      const slopes = [...y.dataSync()].map((value) => -value);
      expect(Math.min(...slopes)).toBeGreaterThanOrEqual(0.1);
      expect(Math.max(...slopes)).toBeLessThan(0.3);
      expect(new Set(slopes).size).toBeGreaterThan(900);
    });
  });

  it('convolutions pad with other things than zeros, in one dimension too', () => {
    runtime.tidy(() => {
      const x = line();
      using conv = new nn.Conv1d(4, 2, 3, { padding: 'same', paddingMode: 'replicate' });
      const padded = runtime.pad(x, [1, 1], 'replicate');
      const expected = runtime.conv1d(padded, conv.weight, conv.bias);
      expect([...conv.forward(x).dataSync()]).toEqual([...expected.dataSync()]);
      using up = new nn.ConvTranspose1d(4, 2, 3, { stride: 2, outputPadding: 1, bias: false });
      expect(up.forward(x).shape).toEqual([2, 2, 18]);
      using even = new nn.Conv2d(4, 4, 2, { padding: 'same', paddingMode: 'circular', groups: 2 });
      expect(even.forward(image()).shape).toEqual([2, 4, 6, 6]);
    });
  });
});

it('adaptive max pooling returns positions when asked to', () => {
  const both = { returnIndices: true } as const;
  runtime.tidy(() => {
    const [x, y, z] = [line(), image(), volume()];
    const found = [
      new nn.AdaptiveMaxPool1d(3, both).forward(x),
      new nn.AdaptiveMaxPool2d(2, both).forward(y),
      new nn.AdaptiveMaxPool3d(2, both).forward(z),
    ];
    const expected = [
      runtime.adaptiveMaxPool1d(x, 3, both),
      runtime.adaptiveMaxPool2d(y, 2, both),
      runtime.adaptiveMaxPool3d(z, 2, both),
    ];
    const values = (pairs: [Tensor, Tensor][]) =>
      pairs.map((pair) => pair.map((own) => own.tolist()));
    expect(values(found)).toEqual(values(expected));
  });
});
