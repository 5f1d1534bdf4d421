import { type EmbeddingBagOptions, embeddingBag } from '../functional/embedding-bag.ts';
import { expectOptions } from '../options/expect-options.ts';
import { oneOf } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Embedding, type EmbeddingLayerOptions, embeddingKinds } from './embedding.ts';

export interface EmbeddingBagLayerOptions extends EmbeddingLayerOptions {
  /** How the rows of a bag become one; `mean` by default. */
  readonly mode?: EmbeddingBagOptions['mode'];
}

const bagKinds = { ...embeddingKinds, mode: oneOf('sum', 'mean', 'max') };

/**
 * One row for each bag of indices: int32 [bags, n], or [n] with the places where bags begin, → [bags, size]. `weight`
 * [entries, size] starts standard normal.
 */
export class EmbeddingBag extends Embedding {
  readonly mode: NonNullable<EmbeddingBagOptions['mode']>;

  constructor(entries: number, size: number, options: EmbeddingBagLayerOptions = {}) {
    expectOptions('EmbeddingBag', options, bagKinds);
    const { mode = 'mean', ...rest } = options;
    super(entries, size, rest);
    this.mode = mode;
  }

  /** `perSampleWeights`: factors of the rows, for `sum`. */
  override forward(
    indices: Tensor,
    offsets: Tensor | null = null,
    perSampleWeights: Tensor | null = null,
  ): Tensor {
    if (this.maxNorm !== null) this.shorten(indices, this.maxNorm);
    const { mode, paddingIdx } = this;
    return embeddingBag(this.weight, indices, { offsets, mode, perSampleWeights, paddingIdx });
  }
}
