import { ArgumentError } from '../errors/errors.ts';
import { expectCallOptions } from '../functional/call-options.ts';
import { expand } from '../ops/core/broadcast.ts';
import { fill_ } from '../ops/in-place/in-place.ts';
import { zeros } from '../ops/movement/create.ts';
import { cat } from '../ops/movement/joining.ts';
import { narrow, reshape, squeeze, transpose, unsqueeze } from '../ops/movement/movement.ts';
import { zerosLike } from '../ops/movement/ranges.ts';
import { softmax } from '../ops/normalization/softmax.ts';
import { add, maskedFill, mul } from '../ops/pointwise/pointwise.ts';
import { linear, matmul } from '../ops/products/matmul.ts';
import { dropout } from '../ops/random/dropout.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { mean } from '../ops/reduce/reduce.ts';
import { expectSizes } from '../options/expect-arguments.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { count, flag, probability } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { xavierNormal_, xavierUniform_ } from './init.ts';
import { Linear } from './linear.ts';
import { Module } from './module/module.ts';
import { type Parameter, parameter } from './module/parameter.ts';

export interface MultiheadAttentionOptions {
  /** Fraction of the weights zeroed in training; 0 by default. */
  readonly dropout?: number;
  /** True by default. */
  readonly bias?: boolean;
  /** Appends a learned key and value to every sequence. */
  readonly addBiasKv?: boolean;
  /** Appends a key and value of zeros to every sequence. */
  readonly addZeroAttn?: boolean;
  /** Features of keys and values; the same as for queries by default. */
  readonly kdim?: number;
  readonly vdim?: number;
  /** [batch, steps, features] instead of [steps, batch, features]. */
  readonly batchFirst?: boolean;
}

const attentionKinds: OptionKinds<MultiheadAttentionOptions> = {
  dropout: probability,
  bias: flag,
  addBiasKv: flag,
  addZeroAttn: flag,
  kdim: count(1),
  vdim: count(1),
  batchFirst: flag,
};

export interface AttentionCall {
  /** [batch, keys]: bool, true where a key is padding; or numbers added to the scores. */
  readonly keyPaddingMask?: Tensor | null;
  /** Also returns the attention weights; true by default. */
  readonly needWeights?: boolean;
  /** [queries, keys] or [batch · heads, queries, keys]: bool, true where masked out; or numbers added to the scores. */
  readonly attnMask?: Tensor | null;
  /** Averages the returned weights over the heads; true by default. */
  readonly averageAttnWeights?: boolean;
}

/**
 * Multi-head attention (Vaswani et al.): queries [queries, batch, features], keys and values [keys, batch, …] →
 * outputs shaped like the queries, and weights [batch, queries, keys] or [batch, heads, queries, keys].
 */
export class MultiheadAttention extends Module {
  readonly embedDim: number;
  readonly numHeads: number;
  /** May be changed between calls. */
  dropout: number;
  readonly addZeroAttn: boolean;
  readonly batchFirst: boolean;
  /** The stacked weights [3 · features, features] of queries, keys and values; null if their sizes differ. */
  inProjWeight: Parameter | null;
  qProjWeight: Parameter | null;
  kProjWeight: Parameter | null;
  vProjWeight: Parameter | null;
  inProjBias: Parameter | null;
  /** [1, 1, features] */
  biasK: Parameter | null;
  biasV: Parameter | null;
  outProj: Linear;

  constructor(
    embedDim: number,
    numHeads: number,
    options: MultiheadAttentionOptions = {},
    ...surplus: []
  ) {
    super(...surplus);
    expectSizes('nn.MultiheadAttention', { embedDim, numHeads });
    expectOptions('MultiheadAttention', options, attentionKinds);
    if (!Number.isInteger(embedDim / numHeads)) {
      throw new ArgumentError({
        what: "MultiheadAttention: the features can't be divided among the heads",
        given: `${embedDim} features, ${numHeads} heads`,
        expected: 'a number of features that is a multiple of the heads',
        remedy: 'change one of them',
      });
    }
    this.embedDim = embedDim;
    this.numHeads = numHeads;
    this.dropout = options.dropout ?? 0;
    this.addZeroAttn = options.addZeroAttn ?? false;
    this.batchFirst = options.batchFirst ?? false;
    const { bias = true, kdim = embedDim, vdim = embedDim } = options;
    const same = kdim === embedDim && vdim === embedDim;
    const weight = (rows: number, columns: number) =>
      parameter(xavierUniform_(zeros([rows, columns])));
    this.inProjWeight = same ? weight(3 * embedDim, embedDim) : null;
    this.qProjWeight = same ? null : weight(embedDim, embedDim);
    this.kProjWeight = same ? null : weight(embedDim, kdim);
    this.vProjWeight = same ? null : weight(embedDim, vdim);
    this.inProjBias = bias ? parameter(zeros([3 * embedDim])) : null;
    const extra = () => parameter(xavierNormal_(zeros([1, 1, embedDim])));
    this.biasK = options.addBiasKv ? extra() : null;
    this.biasV = options.addBiasKv ? extra() : null;
    this.outProj = new Linear(embedDim, embedDim, { bias });
    const { bias: outBias } = this.outProj;
    if (outBias) tidy(() => void fill_(outBias.detach(), 0));
  }

  override forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    call: AttentionCall = {},
  ): [output: Tensor, weights: Tensor | null] {
    expectCallOptions('MultiheadAttention', call, [
      'keyPaddingMask',
      'needWeights',
      'attnMask',
      'averageAttnWeights',
    ]);
    expectTensors('MultiheadAttention', query, key, value);
    if (query.rank === 2) return this.forwardAlone(query, key, value, call);
    return tidy(() => {
      const batched = (x: Tensor) => (this.batchFirst ? x : transpose(x, 0, 1));
      const [q, k, v] = this.project(query, key, value);
      const [keys, values] = [
        this.withExtra(batched(k), this.biasK),
        this.withExtra(batched(v), this.biasV),
      ];
      const weights = this.weights(batched(q), keys, call, key.shape[this.batchFirst ? 1 : 0]!);
      const kept = this.training && this.dropout > 0 ? dropout(weights, this.dropout) : weights;
      const heads = matmul(kept, this.heads(values));
      const [batch, , queries] = heads.shape as [number, number, number];
      const joined = reshape(transpose(heads, 1, 2), [batch, queries, this.embedDim]);
      const output = batched(this.outProj.forward(joined));
      if (!(call.needWeights ?? true)) return [output, null];
      return [output, (call.averageAttnWeights ?? true) ? mean(kept, 1) : kept];
    });
  }

  /** Runs unbatched inputs, [queries, features] and [keys, …], as a batch of one. */
  protected forwardAlone(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    call: AttentionCall,
  ): [output: Tensor, weights: Tensor | null] {
    return tidy(() => {
      const batch = this.batchFirst ? 0 : 1;
      const q = unsqueeze(query, batch);
      const k = key === query ? q : unsqueeze(key, batch);
      const v = value === key ? k : unsqueeze(value, batch);
      const padding = call.keyPaddingMask;
      const keyPaddingMask = padding ? unsqueeze(padding, 0) : null;
      const [output, weights] = this.forward(q, k, v, { ...call, keyPaddingMask });
      return [squeeze(output, batch), weights && squeeze(weights, 0)];
    });
  }

  /** Projects queries, keys and values, each in its original layout. */
  protected project(query: Tensor, key: Tensor, value: Tensor): [Tensor, Tensor, Tensor] {
    const size = this.embedDim;
    const bias = (i: number) => this.inProjBias && narrow(this.inProjBias, 0, i * size, size);
    const joint = this.inProjWeight;
    if (joint && query === key && key === value) {
      // One large product is faster than three.
      const all = linear(query, joint, this.inProjBias);
      return [
        narrow(all, -1, 0, size),
        narrow(all, -1, size, size),
        narrow(all, -1, 2 * size, size),
      ];
    }
    const weight = (separate: Parameter | null, i: number) =>
      separate ?? narrow(joint!, 0, i * size, size);
    return [
      linear(query, weight(this.qProjWeight, 0), bias(0)),
      linear(key, weight(this.kProjWeight, 1), bias(1)),
      linear(value, weight(this.vProjWeight, 2), bias(2)),
    ];
  }

  /** Appends the learned key and the zero key to [batch, keys, features]. */
  protected withExtra(x: Tensor, learned: Parameter | null): Tensor {
    const [batch] = x.shape as [number];
    const extra = learned ? [expand(learned, [batch, 1, this.embedDim])] : [];
    if (this.addZeroAttn) extra.push(zerosLike(narrow(x, 1, 0, 1)));
    return extra.length > 0 ? cat([x, ...extra], 1) : x;
  }

  /** [batch, steps, features] → [batch, heads, steps, features / heads] */
  protected heads(x: Tensor): Tensor {
    const [batch, steps] = x.shape as [number, number];
    const size = this.embedDim / this.numHeads;
    return transpose(reshape(x, [batch, steps, this.numHeads, size]), 1, 2);
  }

  /** Returns the attention weights [batch, heads, queries, keys]; the masks cover the first `covered` keys. */
  protected weights(q: Tensor, k: Tensor, call: AttentionCall, covered: number): Tensor {
    const scale = Math.sqrt(this.numHeads / this.embedDim);
    const scores = matmul(mul(this.heads(q), scale), transpose(this.heads(k), -1, -2));
    const [batch, , queries] = scores.shape as [number, number, number];
    const { attnMask = null, keyPaddingMask = null } = call;
    const perHead =
      attnMask?.rank === 3 ? reshape(attnMask, [batch, this.numHeads, queries, covered]) : attnMask;
    const padding = keyPaddingMask && unsqueeze(unsqueeze(keyPaddingMask, 1), 1);
    return softmax(masked(masked(scores, perHead, covered), padding, covered));
  }
}

/** Sets the scores of masked-out keys to −∞; keys beyond the first `covered` stay visible. */
function masked(scores: Tensor, mask: Tensor | null, covered: number): Tensor {
  if (!mask) return scores;
  const keys = scores.shape.at(-1)!;
  const part = keys === covered ? scores : narrow(scores, -1, 0, covered);
  const closed =
    mask.dtype === 'bool' ? maskedFill(part, mask, Number.NEGATIVE_INFINITY) : add(part, mask);
  return keys === covered ? closed : cat([closed, narrow(scores, -1, covered, keys - covered)], -1);
}
