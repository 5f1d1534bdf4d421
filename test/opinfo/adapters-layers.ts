/** Layers of PyTorch's nn.functional: linear, convolution, pooling, normalization, resampling. */

import * as ours from '../../runtime/index.ts';
import type { PadMode } from '../../runtime/ops/arranging/padding.ts';
import { type Adapters, type Arguments, adapter } from './arguments.ts';

type Pair = readonly [number, number];
type Padding = ours.ConvOptions['padding'];

const convolution = (given: Arguments): ours.ConvOptions => ({
  stride: given.window<Pair>('stride') ?? 1,
  padding: (given.get('padding') === undefined
    ? 0
    : given.window('padding')) as NonNullable<Padding>,
  dilation: given.window<Pair>('dilation') ?? 1,
  groups: given.number('groups', 1),
});

const conv = (name: string, fn: typeof ours.conv2d) =>
  adapter(
    `${name}(x, weight, bias, { stride, padding, dilation, groups })`,
    'input weight bias stride padding dilation groups',
    (given) =>
      fn(
        given.tensor('input'),
        given.tensor('weight'),
        given.tensorOrNull('bias'),
        convolution(given),
      ),
  );

const transposedConv = (name: string, fn: typeof ours.convTranspose2d) =>
  adapter(
    `${name}(x, weight, bias, { stride, padding, outputPadding, groups, dilation })`,
    'input weight bias stride padding output_padding groups dilation',
    (given) =>
      fn(given.tensor('input'), given.tensor('weight'), given.tensorOrNull('bias'), {
        ...(convolution(given) as ours.ConvTransposeOptions),
        outputPadding: given.window<Pair>('output_padding') ?? 0,
      }),
  );

const avgPool = (name: string, fn: typeof ours.avgPool2d) =>
  adapter(
    `${name}(x, kernel, { stride, padding, ceilMode, countIncludePad, divisorOverride })`,
    'input kernel_size stride padding ceil_mode count_include_pad divisor_override',
    (given) => {
      const kernel = given.window<Pair>('kernel_size')!;
      return fn(given.tensor('input'), kernel, {
        stride: given.window<Pair>('stride') ?? kernel,
        padding: given.window<Pair>('padding') ?? 0,
        ceilMode: given.flag('ceil_mode'),
        countIncludePad: given.flag('count_include_pad', true),
        divisorOverride: given.numberOr('divisor_override', null),
      });
    },
  );

const maxPool = (name: string, fn: typeof ours.maxPool2d) =>
  adapter(
    `${name}(x, kernel, { stride, padding, dilation, ceilMode, returnIndices })`,
    'input kernel_size stride padding dilation ceil_mode return_indices',
    (given) => {
      const kernel = given.window<Pair>('kernel_size')!;
      const options = {
        stride: given.window<Pair>('stride') ?? kernel,
        padding: given.window<Pair>('padding') ?? 0,
        dilation: given.window<Pair>('dilation') ?? 1,
        ceilMode: given.flag('ceil_mode'),
      };
      const x = given.tensor('input');
      return given.flag('return_indices')
        ? fn(x, kernel, { ...options, returnIndices: true })
        : fn(x, kernel, options);
    },
  );

/** None keeps a size. */
const outputSize = (given: Arguments) => given.get('output_size') as number | Pair;

const adaptiveAvg = (name: string, fn: typeof ours.adaptiveAvgPool2d) =>
  adapter(`${name}(x, size)`, 'input output_size', (given) =>
    fn(given.tensor('input'), outputSize(given)),
  );

const adaptiveMax = (name: string, fn: typeof ours.adaptiveMaxPool2d) =>
  adapter(`${name}(x, size, { returnIndices })`, 'input output_size return_indices', (given) => {
    const x = given.tensor('input');
    return given.flag('return_indices')
      ? fn(x, outputSize(given), { returnIndices: true })
      : fn(x, outputSize(given));
  });

const affine = (given: Arguments) => ({
  weight: given.tensorOrNull('weight'),
  bias: given.tensorOrNull('bias'),
});

const functional: Adapters = {
  linear: adapter('linear(x, weight, bias)', 'input weight bias', (given) =>
    ours.linear(given.tensor('input'), given.tensor('weight'), given.tensorOrNull('bias')),
  ),
  bilinear: adapter('bilinear(a, b, weight, bias)', 'input1 input2 weight bias', (given) =>
    ours.bilinear(
      given.tensor('input1'),
      given.tensor('input2'),
      given.tensor('weight'),
      given.tensorOrNull('bias'),
    ),
  ),
  embedding: adapter(
    'embedding(weight, indices, { paddingIdx, maxNorm, normType, scaleGradByFreq })',
    'weight input padding_idx max_norm norm_type scale_grad_by_freq sparse',
    (given) =>
      ours.embedding(given.tensor('weight'), given.tensor('input'), {
        paddingIdx: given.numberOr('padding_idx', null),
        maxNorm: given.numberOr('max_norm', null),
        normType: given.number('norm_type', 2),
        scaleGradByFreq: given.flag('scale_grad_by_freq'),
      }),
  ),
  conv1d: conv('conv1d', ours.conv1d as typeof ours.conv2d),
  conv2d: conv('conv2d', ours.conv2d),
  conv_transpose1d: transposedConv(
    'convTranspose1d',
    ours.convTranspose1d as typeof ours.convTranspose2d,
  ),
  conv_transpose2d: transposedConv('convTranspose2d', ours.convTranspose2d),
  avg_pool1d: avgPool('avgPool1d', ours.avgPool1d as typeof ours.avgPool2d),
  avg_pool2d: avgPool('avgPool2d', ours.avgPool2d),
  avg_pool3d: avgPool('avgPool3d', ours.avgPool3d as unknown as typeof ours.avgPool2d),
  max_pool1d: maxPool('maxPool1d', ours.maxPool1d as typeof ours.maxPool2d),
  max_pool2d: maxPool('maxPool2d', ours.maxPool2d),
  adaptive_avg_pool1d: adaptiveAvg(
    'adaptiveAvgPool1d',
    ours.adaptiveAvgPool1d as unknown as typeof ours.adaptiveAvgPool2d,
  ),
  adaptive_avg_pool2d: adaptiveAvg('adaptiveAvgPool2d', ours.adaptiveAvgPool2d),
  adaptive_avg_pool3d: adaptiveAvg(
    'adaptiveAvgPool3d',
    ours.adaptiveAvgPool3d as unknown as typeof ours.adaptiveAvgPool2d,
  ),
  adaptive_max_pool1d: adaptiveMax(
    'adaptiveMaxPool1d',
    ours.adaptiveMaxPool1d as unknown as typeof ours.adaptiveMaxPool2d,
  ),
  adaptive_max_pool2d: adaptiveMax('adaptiveMaxPool2d', ours.adaptiveMaxPool2d),
  batch_norm: adapter(
    'batchNorm(x, mean, variance, { weight, bias, training, momentum, eps })',
    'input running_mean running_var weight bias training momentum eps',
    (given) =>
      ours.batchNorm(
        given.tensor('input'),
        given.tensorOrNull('running_mean'),
        given.tensorOrNull('running_var'),
        {
          ...affine(given),
          training: given.flag('training'),
          momentum: given.number('momentum', 0.1),
          eps: given.number('eps', 1e-5),
        },
      ),
  ),
  instance_norm: adapter(
    'instanceNorm(x, { runningMean, runningVar, weight, bias, useInputStats, momentum, eps })',
    'input running_mean running_var weight bias use_input_stats momentum eps',
    (given) =>
      ours.instanceNorm(given.tensor('input'), {
        ...affine(given),
        runningMean: given.tensorOrNull('running_mean'),
        runningVar: given.tensorOrNull('running_var'),
        useInputStats: given.flag('use_input_stats', true),
        momentum: given.number('momentum', 0.1),
        eps: given.number('eps', 1e-5),
      }),
  ),
  group_norm: adapter(
    'groupNorm(x, groups, weight, bias, eps)',
    'input num_groups weight bias eps',
    (given) =>
      ours.groupNorm(
        given.tensor('input'),
        given.number('num_groups'),
        given.tensorOrNull('weight'),
        given.tensorOrNull('bias'),
        given.number('eps', 1e-5),
      ),
  ),
  layer_norm: adapter(
    'layerNorm(x, shape, weight, bias, eps)',
    'input normalized_shape weight bias eps',
    (given) =>
      ours.layerNorm(
        given.tensor('input'),
        given.list('normalized_shape'),
        given.tensorOrNull('weight'),
        given.tensorOrNull('bias'),
        given.number('eps', 1e-5),
      ),
  ),
  local_response_norm: adapter(
    'localResponseNorm(x, size, alpha, beta, k)',
    'input size alpha beta k',
    (given) =>
      ours.localResponseNorm(
        given.tensor('input'),
        given.number('size'),
        given.number('alpha', 1e-4),
        given.number('beta', 0.75),
        given.number('k', 1),
      ),
  ),
  normalize: adapter('normalize(x, { p, dim, eps })', 'input p dim eps', (given) =>
    ours.normalize(given.tensor('input'), {
      p: given.number('p', 2),
      dim: given.dims('dim') ?? 1,
      eps: given.number('eps', 1e-12),
    }),
  ),
  cosine_similarity: adapter('cosineSimilarity(a, b, dim, eps)', 'x1 x2 dim eps', (given) =>
    ours.cosineSimilarity(
      given.tensor('x1'),
      given.tensor('x2'),
      given.number('dim', 1),
      given.number('eps', 1e-8),
    ),
  ),
  pairwise_distance: adapter(
    'pairwiseDistance(a, b, { p, eps, keepDim })',
    'x1 x2 p eps keepdim',
    (given) =>
      ours.pairwiseDistance(given.tensor('x1'), given.tensor('x2'), {
        p: given.number('p', 2),
        eps: given.number('eps', 1e-6),
        keepDim: given.flag('keepdim'),
      }),
  ),
  pad: adapter('pad(x, amounts, mode, value)', 'input pad mode value', (given) =>
    ours.pad(
      given.tensor('input'),
      given.list('pad'),
      given.text<PadMode>('mode', 'constant'),
      given.number('value', 0),
    ),
  ),
  unfold: adapter(
    'im2col(x, kernel, { dilation, padding, stride })',
    'input kernel_size dilation padding stride',
    (given) =>
      ours.im2col(given.tensor('input'), given.window<Pair>('kernel_size')!, {
        dilation: given.window<Pair>('dilation') ?? 1,
        padding: given.window<Pair>('padding') ?? 0,
        stride: given.window<Pair>('stride') ?? 1,
      }),
  ),
  fold: adapter(
    'col2im(x, size, kernel, { dilation, padding, stride })',
    'input output_size kernel_size dilation padding stride',
    (given) =>
      ours.col2im(
        given.tensor('input'),
        given.window<Pair>('output_size')!,
        given.window<Pair>('kernel_size')!,
        {
          dilation: given.window<Pair>('dilation') ?? 1,
          padding: given.window<Pair>('padding') ?? 0,
          stride: given.window<Pair>('stride') ?? 1,
        },
      ),
  ),
  interpolate: adapter(
    'interpolate(x, { size, scaleFactor, mode, alignCorners, recomputeScaleFactor })',
    'input size scale_factor mode align_corners recompute_scale_factor',
    (given) =>
      ours.interpolate(given.tensor('input'), {
        ...(given.has('size') && { size: given.get('size') as number | number[] }),
        ...(given.has('scale_factor') && {
          scaleFactor: given.get('scale_factor') as number | number[],
        }),
        mode: given.text<ours.InterpolationMode>('mode', 'nearest'),
        alignCorners: given.flag('align_corners'),
        recomputeScaleFactor: given.flag('recompute_scale_factor'),
      }),
  ),
  pixel_shuffle: adapter('pixelShuffle(x, factor)', 'input upscale_factor', (given) =>
    ours.pixelShuffle(given.tensor('input'), given.number('upscale_factor')),
  ),
  pixel_unshuffle: adapter('pixelUnshuffle(x, factor)', 'input downscale_factor', (given) =>
    ours.pixelUnshuffle(given.tensor('input'), given.number('downscale_factor')),
  ),
  _scaled_dot_product_attention: adapter(
    'scaledDotProductAttention(query, key, value, { attnMask, dropoutP, isCausal, scale, enableGqa, returnWeights })',
    'query key value attn_mask dropout_p need_attn_weights is_causal',
    (given) =>
      ours.scaledDotProductAttention(
        given.tensor('query'),
        given.tensor('key'),
        given.tensor('value'),
        {
          attnMask: given.tensorOrNull('attn_mask'),
          dropoutP: given.number('dropout_p', 0),
          isCausal: given.flag('is_causal'),
          returnWeights: true,
        },
      ),
  ),
};

export const layerAdapters: Adapters = Object.fromEntries(
  Object.entries(functional).map(([name, own]) => [`nn.functional.${name}`, own]),
);
