/** Calls of the tensor API with a number that changes from call to call and decides no shape. */

import type { Tensor } from '../../../src/index.ts';
import * as F from '../../../src/index.ts';

export interface Case {
  /** `x` is [24, 6] of float32, `ids` [24] of int32 from 0 to 5. */
  readonly fn: (x: Tensor, k: number, ids: Tensor) => unknown;
  readonly numbers: readonly number[];
  /** Traces beyond two, one for each other outcome of a decision on the number. */
  readonly more?: number;
}

const spread = (number: (i: number) => number) =>
  Array.from({ length: 20 }, (_, i) => number((i * 7) % 20));

const entries = spread((i) => i);
const shares = spread((i) => i / 20 + 0.013);
const reals = spread((i) => i / 3 - 2.9);
const positives = spread((i) => i / 3 + 0.4);
const whole = spread((i) => i + 2);

const of = (fn: Case['fn'], numbers: readonly number[], more = 0): Case => ({ fn, numbers, more });

const target = (x: Tensor) => x.detach().mul(0.3).add(0.1);
const signs = (x: Tensor) => x.detach().gt(0).to('float32').mul(2).sub(1);

export const cases: Readonly<Record<string, Case>> = {
  // Views at a place
  select: of((x, k) => x.select(0, k).mul(2), entries),
  'select, handed out': of((x, k) => x.select(0, k), entries),
  'select from the end': of((x, k) => x.select(0, -1 - k).exp(), entries),
  'select in a column': of((x, k) => x.t().select(1, k).exp(), entries),
  narrow: of((x, k) => x.narrow(0, k, 3).mul(2), entries),
  'narrow at a product': of((x, k) => x.narrow(0, Math.floor(k / 5) * 6, 6).exp(), entries),
  slice: of((x, k) => x.index([k, k + 3]).mul(2), entries),
  'slice by products': of(
    (x, k) =>
      x
        .reshape([48, 3])
        .index([k * 2, (k + 1) * 2])
        .exp(),
    entries,
  ),
  'slice with a step': of((x, k) => x.index([k, k + 4, 2]).exp(), entries),
  index: of((x, k) => x.index(k).mul(2), entries),
  'index in a dimension': of((x, k) => x.index('...', k % 3).mul(2), entries),
  'a view of a view': of((x, k) => x.narrow(0, k, 4).select(0, 1).narrow(0, 2, 3).exp(), entries),
  'views of two places': of((x, k) => x.select(0, k).mul(x.select(0, 19 - k)), entries),
  'select of a result': of((x, k) => x.mul(2).select(0, k).exp(), entries),
  selectScatter: of((x, k) => F.selectScatter(x, x.select(0, 0).mul(2), 0, k), entries),
  sliceScatter: of((x, k) => F.sliceScatter(x, x.narrow(0, 0, 3), 0, k, k + 3), entries),
  roll: of((x, k) => F.roll(x, k - 9, 0).exp(), entries),
  'roll of a flat tensor': of((x, k) => F.roll(x, k * 7 - 60), entries),
  'roll of two dimensions': of((x, k) => F.roll(x.t(), [k, -k], [0, 1]), entries),
  triu: of((x, k) => F.triu(x, k - 9), entries),
  tril: of((x, k) => F.tril(x, k - 9), entries),
  // Tensors of numbers
  full: of((x, k) => x.mul(F.full([6], k)), reals),
  'full of integers': of((_x, k, ids) => ids.add(F.full([24], k, { dtype: 'int32' })), whole),
  'full of bytes': of((_x, k) => F.full([3], k, { dtype: 'uint8' }), whole),
  fullLike: of((x, k) => x.mul(F.fullLike(x, k)), reals),
  tensor: of((x, k) => x.mul(F.tensor(k)), reals),
  'tensor of several': of((x, k) => x.mul(F.tensor([k, 1, 2, k * 2, 4, -k])), reals),
  'tensor of integers': of((_x, k) => F.tensor([k, 3], { dtype: 'int32' }), whole),
  'tensor of fractions as integers': of((_x, k) => F.tensor([k], { dtype: 'int32' }), reals),
  'tensor of doubles': of((_x, k) => F.tensor([k, 3], { dtype: 'float64' }), reals),
  'a leaf of a number': of((x, k) => x.mul(F.tensor(k, { requiresGrad: true })), reals),
  arange: of((x, k) => x.mul(F.arange(k, k + 6)), whole),
  linspace: of((x, k) => x.mul(F.linspace(k, 3, 6)), reals),
  // Arithmetic with a number
  add: of((x, k) => x.add(k), reals),
  'add with alpha': of((x, k) => x.add(x.exp(), k), reals),
  sub: of((x, k) => x.sub(k), reals),
  rsub: of((x, k) => F.rsub(x, 2, k), reals),
  mul: of((x, k) => x.mul(k), reals),
  div: of((x, k) => x.div(k), reals),
  'div, rounded': of((x, k) => x.div(k, { roundingMode: 'floor' }), reals),
  'integers and a whole number': of((_x, k, ids) => ids.add(k).mul(k), whole),
  'integers and a fraction': of((_x, k, ids) => ids.add(k), reals, 1),
  pow: of((x, k) => x.pow(k), reals),
  'pow of positive ones': of((x, k) => x.exp().pow(k), reals),
  'pow of integers': of((_x, k, ids) => ids.pow(k), whole),
  'pow of a number': of((x, k) => F.pow(k, x), positives),
  floatPower: of((x, k) => F.floatPower(x, k), whole),
  remainder: of((x, k) => x.remainder(k), reals),
  fmod: of((x, k) => F.fmod(x, k), reals),
  floorDivide: of((x, k) => F.floorDivide(x, k), reals),
  'remainder of integers': of((_x, k, ids) => ids.remainder(k), whole),
  'divisions of integers': of(
    (_x, k, ids) => [F.floorDivide(ids, k), F.fmod(ids, k), ids.div(k, { roundingMode: 'trunc' })],
    whole,
  ),
  'div, cut off': of((x, k) => x.div(k, { roundingMode: 'trunc' }), reals),
  clamp: of((x, k) => x.clamp(-k, k), positives),
  clampMin: of((x, k) => F.clampMin(x, k), reals),
  lerp: of((x, k) => x.lerp(x.exp(), k), reals),
  addcmul: of((x, k) => x.addcmul(x, x, k), reals),
  addcdiv: of((x, k) => x.addcdiv(x, x.exp(), k), reals),
  addmm: of((x, k) => F.addmm(x.narrow(0, 0, 6), x.t(), x, { beta: k, alpha: k + 1 }), reals),
  copysign: of((x, k) => F.copysign(x, k), reals),
  xlogy: of((x, k) => F.xlogy(x, k), positives),
  nanToNum: of((x, k) => F.nanToNum(x.div(0), k, k + 1, -k), reals),
  eq: of((_x, k, ids) => ids.eq(k), whole),
  gt: of((x, k) => x.gt(k), reals),
  'other comparisons': of((x, k) => [x.le(k), x.ge(k), x.lt(k), x.ne(k)], reals),
  isclose: of((x, k) => F.isclose(x, x.mul(1.1), { rtol: k }), shares),
  where: of((x, k) => F.where(x.gt(0), x, k), reals),
  'where, the first': of((x, k) => F.where(x.gt(0), k, x), reals),
  maskedFill: of((x, k) => x.maskedFill(x.gt(0), k), reals),
  indexFill: of((x, k) => F.indexFill(x, 0, F.tensor([1, 2], { dtype: 'int32' }), k), reals),
  indexPut: of((x, k) => F.indexPut(x, [F.tensor([1, 2], { dtype: 'int32' })], k), reals),
  indexAdd: of((x, k, ids) => F.indexAdd(x, 0, ids, x.exp(), k), reals),
  scatter: of((x, k, ids) => F.scatter(x, 0, ids.reshape([24, 1]), k), reals),
  pad: of((x, k) => F.pad(x, [1, 1], 'constant', k), reals),
  trapezoid: of((x, k) => F.trapezoid(x, { dx: k }), reals),
  gradient: of((x, k) => F.gradient(x, { spacing: k, dim: 0 })[0], positives),
  // Reductions
  norm: of(
    (x, k) => F.norm(x, k, 1),
    spread((i) => i / 3 + 2.4),
  ),
  'norm of less than nothing': of(
    (x, k) => F.norm(x.exp(), k, 1),
    spread((i) => -i / 3 - 0.4),
  ),
  variance: of((x, k) => F.variance(x, 0, { correction: k }), shares),
  quantile: of((x, k) => F.quantile(x, k, 0), shares),
  normalize: of((x, k) => F.normalize(x, { eps: k }), positives),
  cdist: of(
    (x, k) => F.cdist(x, x.mul(2), k),
    spread((i) => i / 3 + 2.4),
  ),
  cosineSimilarity: of((x, k) => F.cosineSimilarity(x, x.exp(), 1, k), positives),
  // Activations
  leakyRelu: of((x, k) => F.leakyRelu(x, k), shares),
  elu: of((x, k) => F.elu(x, k), positives),
  celu: of((x, k) => F.celu(x, k), positives),
  softplus: of((x, k) => F.softplus(x, k, 2), positives),
  'softplus, by its threshold': of((x, k) => F.softplus(x, 1, k), reals),
  hardtanh: of((x, k) => F.hardtanh(x, -k, k), positives),
  threshold: of((x, k) => F.threshold(x, k, k + 1), reals),
  hardshrink: of((x, k) => F.hardshrink(x, k), shares),
  softshrink: of((x, k) => F.softshrink(x, k), shares),
  logit: of(
    (x, k) => F.logit(x.sigmoid(), k),
    spread((i) => i / 60 + 0.01),
  ),
  polygamma: of(
    (x, k) => F.polygamma(k, x.exp().add(1)),
    spread((i) => 1 + (i % 20)),
  ),
  dropout: of(
    (x, k) => F.dropout(x, k),
    shares.map((share) => share * 0.9),
  ),
  alphaDropout: of(
    (x, k) => F.alphaDropout(x, k),
    shares.map((share) => share * 0.9),
  ),
  // Normalization
  layerNorm: of((x, k) => F.layerNorm(x, 6, null, null, k), positives),
  'layerNorm with weights': of((x, k) => {
    const [weight, bias] = [x.select(0, 0), x.select(0, 1)];
    return F.layerNorm(x.mul(2), 6, weight, bias, k);
  }, positives),
  rmsNorm: of((x, k) => F.rmsNorm(x, 6, null, k), positives),
  groupNorm: of((x, k) => F.groupNorm(x, 2, null, null, k), positives),
  batchNorm: of((x, k) => F.batchNorm(x, null, null, { training: true, eps: k }), positives),
  localResponseNorm: of((x, k) => F.localResponseNorm(x.reshape([4, 6, 6]), 3, k, k, k), positives),
  // Losses
  smoothL1Loss: of((x, k) => F.smoothL1Loss(x, target(x), { beta: k }), positives),
  huberLoss: of((x, k) => F.huberLoss(x, target(x), { delta: k }), positives),
  crossEntropy: of((x, k, ids) => F.crossEntropy(x, ids, { labelSmoothing: k }), shares),
  'crossEntropy without some labels': of(
    (x, k, ids) => F.crossEntropy(x, ids, { ignoreIndex: k }),
    spread((i) => i - 7),
  ),
  marginRankingLoss: of((x, k) => F.marginRankingLoss(x, x.exp(), signs(x), { margin: k }), reals),
  hingeEmbeddingLoss: of((x, k) => F.hingeEmbeddingLoss(x, signs(x), { margin: k }), reals),
  cosineEmbeddingLoss: of(
    (x, k) => F.cosineEmbeddingLoss(x, x.exp(), signs(x.select(1, 0)), { margin: k }),
    shares,
  ),
  tripletMarginLoss: of(
    (x, k) => F.tripletMarginLoss(x, x.exp(), x.mul(2), { margin: k, eps: k }),
    positives,
  ),
  multiMarginLoss: of((x, k, ids) => F.multiMarginLoss(x, ids, { margin: k }), positives),
  gaussianNllLoss: of(
    (x, k) => F.gaussianNllLoss(x, target(x), target(x).abs(), { eps: k }),
    shares,
  ),
  poissonNllLoss: of(
    (x, k) => F.poissonNllLoss(x.exp(), target(x), { logInput: false, eps: k }),
    positives,
  ),
  attention: of((x, k) => {
    const batch = x.reshape([2, 12, 6]);
    return F.scaledDotProductAttention(batch, batch, batch, { scale: k });
  }, reals),
  // In place
  'add_ and the others': of((x, k) => {
    const y = x.mul(2);
    return y
      .add_(k)
      .sub_(1, k)
      .mul_(k)
      .div_(k + 7)
      .clamp_(-k, 9)
      .pow_(2)
      .addcmul_(y, y, k);
  }, positives),
  'add_ and addcdiv_ of tensors': of((x, k) => {
    const y = x.mul(2);
    return y.add_(x, k).addcdiv_(x, x.exp(), k).clamp_(-k, k);
  }, positives),
  randint: of((x, k) => F.randint(-k, k + 2, [24, 6]).mul(x), whole),
  'uniform_ and normal_': of((x, k) => {
    const [a, b] = [x.detach().clone(), x.detach().clone()];
    return [a.uniform_(-k, k + 1), b.normal_(k, k / 2)];
  }, positives),
  histc: of((x, k) => F.histc(x.detach(), 8, -k, k), positives),
  avgPool2d: of(
    (x, k) => F.avgPool2d(x.reshape([1, 1, 24, 6]), 2, { divisorOverride: k }),
    positives,
  ),
  randn: of((x, k) => F.randn([24, 6]).mul(x.mul(k)), reals),
  pow_: of((x, k) => x.mul(2).pow_(k), reals),
  fill_: of((x, k) => x.mul(2).fill_(k), reals),
  maskedFill_: of((x, k) => x.mul(2).maskedFill_(x.gt(0), k), reals),
  'fill_ at a place': of((x, k) => {
    const y = x.detach().clone();
    y.select(0, k).fill_(7);
    y.narrow(0, k, 2).mul_(2);
    return y;
  }, entries),
  'a write at a place that gradients flow through': of((x, k) => {
    const y = x.mul(2);
    y.select(0, k).mul_(3);
    return y.mul(2);
  }, entries),
};

/** Numbers of which eager execution refuses some, for one reason or another. */
export const refused: Readonly<
  Record<string, { readonly fn: Case['fn']; readonly numbers: readonly number[] }>
> = {
  select: {
    fn: (x, k) => x.select(0, k).mul(2),
    numbers: [3, 24, -24, -25, 2.5, 30, 5, Number.NaN],
  },
  narrow: {
    fn: (x, k) => x.narrow(0, k, 4).mul(2),
    numbers: [3, 21, 20, -1, 2.5, 30, 0, Infinity],
  },
  slice: { fn: (x, k) => x.index([k, k + 4]).mul(2), numbers: [3, 21, -2, 2.5, 7, 3.5, 20] },
  index: { fn: (x, k) => x.index(k, [1, 3]).exp(), numbers: [3, 24, -24, -25, 2.5, 30, 5] },
  selectScatter: {
    fn: (x, k) => F.selectScatter(x, x.select(0, 0), 0, k),
    numbers: [3, 24, -24, -25, 2.5, 30, 5],
  },
  'pow of integers': { fn: (_x, k, ids) => ids.pow(k), numbers: [3, 2, -1, 4, -3, 0.5, 2] },
  'full of integers': {
    fn: (_x, k) => F.full([2], k, { dtype: 'int32' }),
    numbers: [3, 2 ** 31, 2 ** 31 - 1, -(2 ** 31) - 1, 2.5, Number.NaN, 4],
  },
  'tensor of bytes': {
    fn: (_x, k) => F.tensor([k, 1], { dtype: 'uint8' }),
    numbers: [3, 256, 255.5, -1, -0.5, 7, 1000],
  },
  'fill_ of integers': {
    fn: (_x, k, ids) => ids.clone().fill_(k),
    numbers: [3, 2 ** 31, 2.5, 4, -(2 ** 40), 5],
  },
  'add_ to integers': { fn: (_x, k, ids) => ids.clone().add_(k), numbers: [3, 2.5, 4, 3.5, 5] },
  roll: { fn: (x, k) => F.roll(x, k, 0), numbers: [3, 2.5, -4, Number.NaN, 0, 30, Infinity, 5] },
  randint: {
    fn: (_x, k) => F.randint(0, k, [5]),
    numbers: [3, 2.5, 4, 0, -1, 2 ** 24, 2 ** 24 + 1, 7],
  },
  histc: { fn: (x, k) => F.histc(x.detach(), 4, k, 0.5), numbers: [-1, 0.25, 0.75, 0.5, -3, 2] },
  avgPool2d: {
    fn: (x, k) => F.avgPool2d(x.reshape([1, 1, 24, 6]), 2, { divisorOverride: k }),
    numbers: [2, 3, 0, 0.5, -1],
  },
  dropout: { fn: (x, k) => F.dropout(x, k), numbers: [0.5, 0.25, 1.5, -0.5, 1, 0, 0.75, 2] },
  'dropout of attention': {
    fn: (x, k) => F.scaledDotProductAttention(x, x, x, { dropoutP: k }),
    numbers: [0.5, 0.25, 1.5, -0.5, 1, 0, 0.75, 2],
  },
  alphaDropout: { fn: (x, k) => F.alphaDropout(x, k), numbers: [0.5, 0.25, 1.5, 1, 0, 0.75, 2] },
  crossEntropy: {
    fn: (x, k, ids) => F.crossEntropy(x, ids, { labelSmoothing: k }),
    numbers: [0.5, 0.25, 1.5, -0.5, 0, 1, 0.75, 2],
  },
  quantile: { fn: (x, k) => F.quantile(x, k, 0), numbers: [0.5, 0.25, 1.5, -0.5, 0, 1, 0.75, 2] },
  polygamma: { fn: (x, k) => F.polygamma(k, x.exp()), numbers: [2, 3, 0.5, -1, 0, 4, 1.5] },
  cdist: { fn: (x, k) => F.cdist(x, x.exp(), k), numbers: [3, 2.5, -1, 0, 1, 2, Infinity, 4] },
  norm: { fn: (x, k) => F.norm(x, k), numbers: [3, 2.5, -1, 0, 1, 2, Infinity, -Infinity, 4, -2] },
  arange: { fn: (_x, k) => F.arange(k, k + 3), numbers: [3, 4, 5.5, Infinity, 6] },
  smoothL1Loss: {
    fn: (x, k) => F.smoothL1Loss(x, target(x), { beta: k }),
    numbers: [0.5, 0.25, 0, Number.NaN, 1, -1, 2],
  },
  huberLoss: {
    fn: (x, k) => F.huberLoss(x, target(x), { delta: k }),
    numbers: [0.5, 0.25, Number.NaN, 1, -1, 2, 0],
  },
  'a margin': {
    fn: (x, k) => F.marginRankingLoss(x, x.exp(), signs(x), { margin: k }),
    numbers: [0.5, -0.25, Number.NaN, 1, 2],
  },
  'an index to ignore': {
    fn: (x, k, ids) => F.crossEntropy(x, ids, { ignoreIndex: k }),
    numbers: [1, 2, 2.5, 3, -100],
  },
  addmm: {
    fn: (x, k) => F.addmm(x.narrow(0, 0, 6).div(0), x.t(), x, { beta: k }),
    numbers: [0.5, 0.25, 0, 1, 2],
  },
};
