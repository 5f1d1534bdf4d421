import { expectCallOptions } from '../functional/call-options.ts';
import { type EmbeddingBagOptions, embeddingBag } from '../functional/embedding-bag.ts';
import { expectOptions } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { flag, oneOf } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Embedding, type EmbeddingLayerOptions, embeddingKinds } from './embedding.ts';

export interface EmbeddingBagLayerOptions extends EmbeddingLayerOptions {
  /** How the rows of a bag are reduced; `mean` by default. */
  readonly mode?: EmbeddingBagOptions['mode'];
  /** Whether the last offset is the number of indices, not the start of a bag. */
  readonly includeLastOffset?: boolean;
}

/** The arguments of a call, by name. */
export interface BagCall {
  readonly offsets?: Tensor | null;
  readonly perSampleWeights?: Tensor | null;
}

const bagKinds = { ...embeddingKinds, mode: oneOf('sum', 'mean', 'max'), includeLastOffset: flag };

/**
 * Reduces the rows of each bag of indices: int32 [bags, n], or [n] with the offsets of the bags, → [bags, size].
 * `weight` [entries, size] is initialized with standard normal numbers.
 */
export class EmbeddingBag extends Embedding {
  readonly mode: NonNullable<EmbeddingBagOptions['mode']>;
  readonly includeLastOffset: boolean;

  constructor(
    entries: number,
    size: number,
    options: EmbeddingBagLayerOptions = {},
    ...surplus: []
  ) {
    expectOptions('EmbeddingBag', options, bagKinds);
    const { mode = 'mean', includeLastOffset = false, ...rest } = options;
    super(entries, size, rest, ...surplus);
    this.mode = mode;
    this.includeLastOffset = includeLastOffset;
  }

  /** `perSampleWeights` are factors for the rows, in mode `sum`. */
  override forward(
    indices: Tensor,
    first: Tensor | null | BagCall = null,
    second: Tensor | null = null,
  ): Tensor {
    const callOptions = (
      first === null || isTensor(first) ? { offsets: first, perSampleWeights: second } : first
    ) as BagCall;
    expectCallOptions('EmbeddingBag', callOptions, ['offsets', 'perSampleWeights']);
    const { offsets = null, perSampleWeights = null } = callOptions;
    if (this.maxNorm !== null) this.shorten(indices, this.maxNorm);
    const { mode, paddingIdx, scaleGradByFreq, includeLastOffset } = this;
    const rows = { paddingIdx, scaleGradByFreq, includeLastOffset };
    return embeddingBag(this.weight, indices, { offsets, mode, perSampleWeights, ...rows });
  }
}
