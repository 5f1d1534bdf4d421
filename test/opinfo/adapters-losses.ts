/** Losses of PyTorch's nn.functional. */

import * as ours from '../../runtime/index.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Adapters, type Arguments, adapter } from './arguments.ts';

type Reduced = ours.LossOptions;

const reduction = (given: Arguments): Reduced => ({
  reduction: given.text<ours.Reduction>('reduction', 'mean'),
});

const ofTwo = (name: string, fn: (x: Tensor, target: Tensor, options: Reduced) => Tensor) =>
  adapter(
    `${name}(x, target, { reduction })`,
    'input target size_average reduce reduction',
    (given) => fn(given.tensor('input'), given.tensor('target'), reduction(given)),
  );

const pair = (given: Arguments): [Tensor, Tensor] => [
  given.tensor('input'),
  given.tensor('target'),
];

const functional: Adapters = {
  mse_loss: ofTwo('mseLoss', ours.mseLoss),
  l1_loss: ofTwo('l1Loss', ours.l1Loss),
  soft_margin_loss: ofTwo('softMarginLoss', ours.softMarginLoss),
  smooth_l1_loss: adapter(
    'smoothL1Loss(x, target, { beta, reduction })',
    'input target size_average reduce reduction beta',
    (given) =>
      ours.smoothL1Loss(...pair(given), { ...reduction(given), beta: given.number('beta', 1) }),
  ),
  huber_loss: adapter(
    'huberLoss(x, target, { delta, reduction })',
    'input target reduction delta',
    (given) =>
      ours.huberLoss(...pair(given), { ...reduction(given), delta: given.number('delta', 1) }),
  ),
  binary_cross_entropy: adapter(
    'binaryCrossEntropy(x, target, { weight, reduction })',
    'input target weight size_average reduce reduction',
    (given) =>
      ours.binaryCrossEntropy(...pair(given), {
        ...reduction(given),
        weight: given.tensorOrNull('weight'),
      }),
  ),
  binary_cross_entropy_with_logits: adapter(
    'binaryCrossEntropyWithLogits(x, target, { weight, posWeight, reduction })',
    'input target weight size_average reduce reduction pos_weight',
    (given) =>
      ours.binaryCrossEntropyWithLogits(...pair(given), {
        ...reduction(given),
        weight: given.tensorOrNull('weight'),
        posWeight: given.tensorOrNull('pos_weight'),
      }),
  ),
  kl_div: adapter(
    'klDiv(x, target, { logTarget, reduction })',
    'input target size_average reduce reduction',
    (given) =>
      ours.klDiv(...pair(given), {
        reduction: given.text<ours.Reduction | 'batchmean'>('reduction', 'mean'),
        logTarget: given.flag('log_target'),
      }),
  ),
  poisson_nll_loss: adapter(
    'poissonNllLoss(x, target, { logInput, full, eps, reduction })',
    'input target log_input full size_average eps reduce reduction',
    (given) =>
      ours.poissonNllLoss(...pair(given), {
        ...reduction(given),
        logInput: given.flag('log_input', true),
        full: given.flag('full'),
        eps: given.number('eps', 1e-8),
      }),
  ),
  gaussian_nll_loss: adapter(
    'gaussianNllLoss(x, target, variance, { full, eps, reduction })',
    'input target var full eps reduction',
    (given) =>
      ours.gaussianNllLoss(...pair(given), given.tensor('var'), {
        ...reduction(given),
        full: given.flag('full'),
        eps: given.number('eps', 1e-6),
      }),
  ),
  hinge_embedding_loss: adapter(
    'hingeEmbeddingLoss(x, target, { margin, reduction })',
    'input target margin size_average reduce reduction',
    (given) =>
      ours.hingeEmbeddingLoss(...pair(given), {
        ...reduction(given),
        margin: given.number('margin', 1),
      }),
  ),
  cosine_embedding_loss: adapter(
    'cosineEmbeddingLoss(a, b, target, { margin, reduction })',
    'input1 input2 target margin size_average reduce reduction',
    (given) =>
      ours.cosineEmbeddingLoss(
        given.tensor('input1'),
        given.tensor('input2'),
        given.tensor('target'),
        { ...reduction(given), margin: given.number('margin', 0) },
      ),
  ),
  margin_ranking_loss: adapter(
    'marginRankingLoss(a, b, target, { margin, reduction })',
    'input1 input2 target margin size_average reduce reduction',
    (given) =>
      ours.marginRankingLoss(
        given.tensor('input1'),
        given.tensor('input2'),
        given.tensor('target'),
        { ...reduction(given), margin: given.number('margin', 0) },
      ),
  ),
  triplet_margin_loss: adapter(
    'tripletMarginLoss(anchor, positive, negative, { margin, p, eps, swap, reduction })',
    'anchor positive negative margin p eps swap size_average reduce reduction',
    (given) =>
      ours.tripletMarginLoss(
        given.tensor('anchor'),
        given.tensor('positive'),
        given.tensor('negative'),
        {
          ...reduction(given),
          margin: given.number('margin', 1),
          p: given.number('p', 2),
          eps: given.number('eps', 1e-6),
          swap: given.flag('swap'),
        },
      ),
  ),
  multi_margin_loss: adapter(
    'multiMarginLoss(x, target, { p, margin, weight, reduction })',
    'input target p margin weight size_average reduce reduction',
    (given) =>
      ours.multiMarginLoss(...pair(given), {
        ...reduction(given),
        p: given.number('p', 1),
        margin: given.number('margin', 1),
        weight: given.tensorOrNull('weight'),
      }),
  ),
  multilabel_soft_margin_loss: adapter(
    'multilabelSoftMarginLoss(x, target, { weight, reduction })',
    'input target weight size_average reduce reduction',
    (given) =>
      ours.multilabelSoftMarginLoss(...pair(given), {
        ...reduction(given),
        weight: given.tensorOrNull('weight'),
      }),
  ),
  nll_loss: adapter(
    'nllLoss(logProbs, target, { weight, ignoreIndex, reduction })',
    'input target weight size_average ignore_index reduce reduction',
    (given) =>
      ours.nllLoss(...pair(given), {
        ...reduction(given),
        weight: given.tensorOrNull('weight'),
        ignoreIndex: given.number('ignore_index', -100),
      }),
  ),
  cross_entropy: adapter(
    'crossEntropy(scores, target, { weight, ignoreIndex, labelSmoothing, reduction })',
    'input target weight size_average ignore_index reduce reduction label_smoothing',
    (given) =>
      ours.crossEntropy(...pair(given), {
        ...reduction(given),
        weight: given.tensorOrNull('weight'),
        ignoreIndex: given.number('ignore_index', -100),
        labelSmoothing: given.number('label_smoothing', 0),
      }),
  ),
};

export const lossAdapters: Adapters = Object.fromEntries(
  Object.entries(functional).map(([name, own]) => [`nn.functional.${name}`, own]),
);
