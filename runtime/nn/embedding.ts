import { noGrad } from '../autograd/grad-mode.ts';
import { ArgumentError } from '../errors/errors.ts';
import { embedding } from '../ops/advanced-indexing/embedding.ts';
import { indexFill } from '../ops/arranging/index-fill.ts';
import { copy_, fill_, mul_ } from '../ops/in-place/in-place.ts';
import { norm } from '../ops/linalg/norm.ts';
import { narrow, reshape, select } from '../ops/movement/movement.ts';
import { zerosLike } from '../ops/movement/ranges.ts';
import { add, gt, logicalAnd, mul, reciprocal, where } from '../ops/pointwise/pointwise.ts';
import { randn } from '../ops/random/drawn.ts';
import { shapeOf } from '../ops/record/expect-tensors.ts';
import { expectSizes } from '../options/expect-arguments.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyInteger, flag, nonNegativeNumber, orNull, positive } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';
import { type Parameter, parameter } from './module/parameter.ts';

export interface EmbeddingLayerOptions {
  /** The index of a row that starts as zeros and gets no gradient; counted from the end if negative. */
  readonly paddingIdx?: number | null;
  /** Rescales looked-up rows with a larger norm to this norm, in place. */
  readonly maxNorm?: number | null;
  /** The order of the norm that `maxNorm` limits; 2 by default. */
  readonly normType?: number;
  /** Divides the gradient of a row by the number of times it was looked up. */
  readonly scaleGradByFreq?: boolean;
}

interface PretrainedOptions extends EmbeddingLayerOptions {
  /** True by default. */
  readonly freeze?: boolean;
}

export const embeddingKinds: OptionKinds<EmbeddingLayerOptions> = {
  paddingIdx: orNull(anyInteger),
  maxNorm: orNull(nonNegativeNumber),
  normType: positive,
  scaleGradByFreq: flag,
};

const pretrainedKinds: OptionKinds<PretrainedOptions> = { ...embeddingKinds, freeze: flag };

/**
 * Looks up a row of `weight` [entries, size] for each index: int32 [...] → [..., size]. The weight is initialized
 * with standard normal numbers.
 */
export class Embedding extends Module {
  weight: Parameter;
  readonly paddingIdx: number | null;
  readonly maxNorm: number | null;
  readonly normType: number;
  readonly scaleGradByFreq: boolean;

  constructor(entries: number, size: number, options: EmbeddingLayerOptions = {}, ...surplus: []) {
    super(...surplus);
    expectSizes('nn.Embedding', { entries, size });
    expectOptions('Embedding', options, embeddingKinds);
    this.paddingIdx = rowOf(entries, options.paddingIdx ?? null);
    this.maxNorm = options.maxNorm ?? null;
    this.normType = options.normType ?? 2;
    this.scaleGradByFreq = options.scaleGradByFreq ?? false;
    const weight = randn([entries, size]);
    if (this.paddingIdx !== null) {
      const at = this.paddingIdx;
      noGrad(() => tidy(() => void fill_(narrow(weight, 0, at, 1), 0)));
    }
    this.weight = parameter(weight);
  }

  /** Creates an embedding from existing rows; frozen by default. */
  static fromPretrained(rows: Tensor, options: PretrainedOptions = {}): Embedding {
    expectOptions('Embedding.fromPretrained', options, pretrainedKinds);
    const { freeze = true, ...layer } = options;
    const [entries, size] = shapeOf('Embedding.fromPretrained', rows) as [number, number];
    const module = new Embedding(entries, size, layer);
    tidy(() => void copy_(module.weight.detach(), rows));
    module.weight.requiresGrad_(!freeze);
    return module;
  }

  override forward(indices: Tensor): Tensor {
    if (this.maxNorm !== null) this.shorten(indices, this.maxNorm);
    const { paddingIdx, scaleGradByFreq } = this;
    return embedding(this.weight, indices, { paddingIdx, scaleGradByFreq });
  }

  protected shorten(indices: Tensor, maxNorm: number): void {
    noGrad(() =>
      tidy(() => {
        const [entries] = this.weight.shape as [number, number];
        const none = zerosLike(select(this.weight, 1, 0));
        const used = gt(indexFill(none, 0, reshape(indices, [-1]), 1), 0);
        const lengths = norm(this.weight, this.normType, -1);
        // PyTorch's constant, which avoids a division by zero.
        const factors = mul(reciprocal(add(lengths, 1e-7)), maxNorm);
        const longer = logicalAnd(used, gt(lengths, maxNorm));
        mul_(this.weight, reshape(where(longer, factors, 1), [entries, 1]));
      }),
    );
  }
}

function rowOf(entries: number, index: number | null): number | null {
  if (index === null) return null;
  const row = index < 0 ? index + entries : index;
  if (Number.isInteger(row) && row >= 0 && row < entries) return row;
  throw new ArgumentError({
    what: 'Embedding: no such row for padding',
    given: `paddingIdx ${index} of ${entries} rows`,
    expected: `an integer from ${-entries} to ${entries - 1}`,
    remedy: 'leave it out when no row is for padding',
  });
}
