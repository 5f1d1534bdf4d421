/** Where gradients of layers, losses and special functions are compared with differences. */

import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import * as ours from '../../../runtime/index.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { type Tensor, tensor } from '../eager.ts';
import type { GradientCase } from './gradient-cases.ts';

type Range = readonly [low: number, high: number];

const on = (
  name: string,
  shapes: readonly Shape[],
  run: (...inputs: Tensor[]) => Tensor,
  range: Range = [-1, 1],
): GradientCase => ({ name, shapes, range, run });

/** Off the kinks at whole numbers. */
const around = [-0.9, 1.1] as const;
const positive = [0.5, 2] as const;

const unary = (run: (x: Tensor) => Tensor, range: Range = around): GradientCase[] => [
  on('[2,3]', [[2, 3]], run, range),
  on('scalar', [[]], run, range),
];

function binary(run: (x: Tensor, y: Tensor) => Tensor, range: Range = around): GradientCase[] {
  const both = run as (...inputs: Tensor[]) => Tensor;
  const shapes = (a: Shape, b: Shape) => [a, b];
  return [
    on('equal shapes', shapes([2, 3], [2, 3]), both, range),
    on('both broadcast', shapes([2, 1, 3], [2, 1]), both, range),
  ];
}

const direct =
  (name: string, attrs: Attrs = {}) =>
  (...inputs: Tensor[]) =>
    bind1(opNamed(name), inputs, attrs);

/** The op for a cut's gradient: constant in x, so x is no variable. */
const ofCut = (name: string, attrs: Attrs): GradientCase[] => [
  on('[5]', [[5]], (dy) => direct(name, attrs)(dy!, tensor([-1.1, -0.2, 0.1, 0.7, 1.3]))),
];

const int = (values: readonly number[], shape: Shape) => tensor(Int32Array.from(values), { shape });
const places = () => int([0, 2, 1, 0, 2, 0], [2, 3]);

const normCases = {
  standardize: [
    on('layer', [[3, 4]], (x) => ours.layerNorm(x, 4)),
    on('group', [[2, 4, 3]], (x) => ours.groupNorm(x, 2)),
    on('batch', [[3, 2, 2]], (x) => ours.batchNorm(x, null, null, { training: true })),
    on('rms', [[3, 4]], (x) => ours.rmsNorm(x, [4])),
  ],
  standardizeAffine: [
    on('layer', [[3, 4], [4], [4]], (x, w, b) => ours.layerNorm(x, 4, w, b)),
    on(
      'layer over two',
      [
        [2, 2, 3],
        [2, 3],
        [2, 3],
      ],
      (x, w, b) => ours.layerNorm(x, [2, 3], w, b),
    ),
    on('group', [[2, 4, 3], [4], [4]], (x, w, b) => ours.groupNorm(x, 2, w, b)),
    on('batch', [[3, 2, 2], [2], [2]], (x, w, b) =>
      ours.batchNorm(x, null, null, { training: true, weight: w!, bias: b! }),
    ),
    on('instance', [[2, 3, 4], [3]], (x, w) => ours.instanceNorm(x, { weight: w! })),
    on('rms', [[3, 4], [4]], (x, w) => ours.rmsNorm(x, 4, w)),
  ],
};

const resampleCases = {
  resample: [
    on('bilinear', [[1, 2, 3, 4]], (x) => ours.interpolate(x, { size: [5, 2], mode: 'bilinear' })),
    on('bicubic', [[1, 1, 3, 3]], (x) =>
      ours.interpolate(x, { scaleFactor: 1.7, mode: 'bicubic', alignCorners: true }),
    ),
    on('average pooling', [[1, 2, 5, 5]], (x) =>
      ours.avgPool2d(x, 3, { stride: 2, padding: 1, countIncludePad: false }),
    ),
    on('adaptive', [[2, 7]], (x) => ours.adaptiveAvgPool1d(x, 3)),
  ],
  resampleGrad: [
    on('area', [[2, 3]], (dy) =>
      direct('resampleGrad', { dim: 1, size: 3, mode: 'area' })(dy!, ours.zeros([2, 7])),
    ),
  ],
};

/** For losses whose targets don't broadcast. */
const alike = (xy: [Tensor, Tensor]) => ours.broadcastTensors(...xy) as [Tensor, Tensor];

const lossCases = {
  smoothL1: [
    ...binary((x, y) => ours.smoothL1Loss(x, y, { reduction: 'none', beta: 0.3 })),
    on('huber', [[5], [5]], (x, y) => ours.huberLoss(x!, y!, { delta: 0.4 })),
  ],
  binaryCrossEntropy: binary(
    (...xy) => ours.binaryCrossEntropy(...alike(xy), { reduction: 'none' }),
    [0.1, 0.9],
  ),
  binaryCrossEntropyWithLogits: binary((...xy) =>
    ours.binaryCrossEntropyWithLogits(...alike(xy), { reduction: 'none' }),
  ),
  logSigmoid: [
    on('weighed logits', [[4], [4]], (x, y) =>
      ours.binaryCrossEntropyWithLogits(x!, y!, { posWeight: tensor([0.5, 1, 2, 3]) }),
    ),
  ],
  logSoftmax: [
    on('cross entropy, smoothed and weighed', [[3, 4]], (x) =>
      ours.crossEntropy(x, int([0, 3, 1], [3]), {
        labelSmoothing: 0.2,
        weight: tensor([1, 2, 0.5, 3]),
      }),
    ),
    on(
      'cross entropy with probabilities',
      [
        [2, 3, 2],
        [2, 3, 2],
      ],
      (x, y) => ours.crossEntropy(x, y!, { reduction: 'sum' }),
    ),
  ],
};

const scatterCases = {
  scatterReduce: (['prod', 'amax', 'amin'] as const).flatMap((reduce) =>
    [true, false].map((includeSelf) =>
      on(
        `${reduce}, ${includeSelf ? 'with' : 'without'} self`,
        [
          [3, 3],
          [2, 3],
        ],
        (x, source) => ours.scatterReduce(x!, 0, places(), source!, reduce, { includeSelf }),
        around,
      ),
    ),
  ),
};

export const layerGradientCases: Readonly<Record<string, readonly GradientCase[]>> = {
  ...normCases,
  ...resampleCases,
  ...lossCases,
  ...scatterCases,
  erfinv: unary(ours.erfinv, [-0.8, 0.8]),
  lgamma: unary(ours.lgamma, [0.6, 3]),
  digamma: unary(ours.digamma, [0.6, 3]),
  polygamma: unary((x) => ours.polygamma(1, x), [0.8, 3]),
  i0: unary(ours.i0, [-2, 2]),
  i1: unary(ours.i1, [-2, 2]),
  sinc: unary(ours.sinc, positive),
  threshold: unary((x) => ours.threshold(x, 0.05, 3)),
  hardshrink: unary((x) => ours.hardshrink(x, 0.05)),
  softshrink: unary((x) => ours.softshrink(x, 0.05)),
  celu: unary((x) => ours.celu(x, 1.5)),
  thresholdGrad: ofCut('thresholdGrad', { threshold: 0.05, value: 3 }),
  hardshrinkGrad: ofCut('hardshrinkGrad', { lambd: 0.5 }),
  softshrinkGrad: ofCut('softshrinkGrad', { lambd: 0.5 }),
  celuGrad: [
    on(
      '[2,3]',
      [
        [2, 3],
        [2, 3],
      ],
      (dy, x) => direct('celuGrad', { alpha: 1.5 })(dy!, x!),
      around,
    ),
  ],
  prelu: binary((x, weight) => direct('prelu')(x, weight)),
  xlogy: binary(ours.xlogy, positive),
  fmax: binary((x, y) => ours.fmax(x, y.add(0.05))),
  fmin: binary((x, y) => ours.fmin(x, y.add(0.05))),
  hypot: binary(ours.hypot),
  copysign: [on('[2,3]', [[2, 3]], (x) => ours.copysign(x, -1), around)],
  logaddexp: binary(ours.logaddexp),
  logaddexp2: binary(ours.logaddexp2),
  logaddexpShare: binary((x, y) => direct('logaddexpShare')(x, y)),
  logaddexp2Share: binary((x, y) => direct('logaddexp2Share')(x, y)),
  cummax: [on('last', [[2, 4]], (x) => ours.cummax(x, -1)[0])],
  cummin: [on('first', [[4, 2]], (x) => ours.cummin(x, 0)[0])],
  logcumsumexp: [
    on('last', [[2, 4]], (x) => ours.logcumsumexp(x, -1)),
    on('first', [[3, 2]], (x) => ours.logcumsumexp(x, 0)),
  ],
  convTranspose2d: [
    on('strided, padded, dilated, in groups', [[1, 4, 3, 2], [4, 1, 2, 2], [2]], (x, w, b) =>
      ours.convTranspose2d(x!, w!, b, {
        stride: [2, 1],
        padding: [1, 0],
        outputPadding: [1, 0],
        dilation: [1, 2],
        groups: 2,
      }),
    ),
    on(
      'one dimension',
      [
        [1, 2, 4],
        [2, 3, 3],
      ],
      (x, w) => ours.convTranspose1d(x!, w!, null),
    ),
  ],
  conv2d: [
    on(
      'same',
      [
        [1, 1, 4, 3],
        [2, 1, 2, 3],
      ],
      (x, w) => ours.conv2d(x!, w!, null, { padding: 'same' }),
    ),
    on(
      'one dimension',
      [
        [2, 6],
        [3, 2, 3],
      ],
      (x, w) => ours.conv1d(x!, w!, null, { padding: 1 }),
    ),
  ],
  adaptiveMaxPool2d: [on('uneven', [[1, 2, 5, 4]], (x) => ours.adaptiveMaxPool2d(x!, [2, 3]))],
  maxPool2d: [
    on('dilated, hanging over', [[1, 1, 6, 5]], (x) =>
      ours.maxPool2d(x!, 2, { stride: 2, dilation: 2, padding: 1, ceilMode: true }),
    ),
  ],
  unfold: [
    on('im2col', [[1, 2, 4, 4]], (x) =>
      ours.im2col(x!, [2, 3], { dilation: [2, 1], padding: 1, stride: 2 }),
    ),
  ],
  unfoldGrad: [
    on('col2im', [[1, 8, 4]], (x) =>
      ours.col2im(x!, [4, 4], 2, { dilation: 2, padding: 1, stride: 2 }),
    ),
  ],
  placeInto: [
    on(
      'a part of a matrix',
      [
        [3, 5],
        [2, 2],
      ],
      (x, part) => direct('placeInto', { strides: [5, 2], offset: 6 })(x!, part!),
    ),
  ],
  // With another factor it is no gradient: that is what it is for.
  scaleGradient: [on('by 1', [[3]], (x) => direct('scaleGradient')(x!, x!.detach().mul(0).add(1)))],
  matmul: [
    on('einsum', [[2, 3], [3, 4, 2], [4]], (a, b, c) => ours.einsum('ij,jki,k->i', [a!, b!, c!])),
    on(
      'attention',
      [
        [2, 3, 4],
        [2, 5, 4],
        [2, 5, 2],
      ],
      (q, k, v) => ours.scaledDotProductAttention(q!, k!, v!, { isCausal: true }),
    ),
    on(
      'bilinear',
      [
        [2, 3],
        [2, 4],
        [2, 3, 4],
      ],
      (a, b, w) => ours.bilinear(a!, b!, w!),
    ),
  ],
  sum: [
    on(
      'p-norm distances',
      [
        [3, 2],
        [2, 2],
      ],
      (a, b) => ours.cdist(a!, b!, 3),
      positive,
    ),
    on(
      'cosine similarity',
      [
        [3, 4],
        [3, 4],
      ],
      (a, b) => ours.cosineSimilarity(a!, b!),
    ),
  ],
};
