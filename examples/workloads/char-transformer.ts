/** A transformer that learns to continue a text, character by character. */

import {
  arange,
  breakGraph,
  crossEntropy,
  gelu,
  matmul,
  nn,
  ones,
  optim,
  softmax,
  type Tensor,
  tidy,
} from '../../src/index.ts';
import type { WorkloadOptions } from '../../src/lab/compare/workload.ts';
import { defineWorkload } from './define-workload.ts';
import { loadText, textBatch } from './text.ts';

export interface TransformerSize {
  readonly characters: number;
  readonly length: number;
  readonly width: number;
  readonly heads: number;
  readonly layers: number;
  readonly breaks?: boolean;
}

/** Causal attention and two linear layers, each with a residual connection. */
class Block extends nn.Module {
  norm1: nn.LayerNorm;
  qkv: nn.Linear;
  projection: nn.Linear;
  norm2: nn.LayerNorm;
  up: nn.Linear;
  down: nn.Linear;
  readonly heads: number;
  readonly breaks: boolean;

  constructor(width: number, heads: number, breaks: boolean) {
    super();
    this.breaks = breaks;
    this.heads = heads;
    this.norm1 = new nn.LayerNorm(width);
    this.qkv = new nn.Linear(width, 3 * width);
    this.projection = new nn.Linear(width, width);
    this.norm2 = new nn.LayerNorm(width);
    this.up = new nn.Linear(width, 4 * width);
    this.down = new nn.Linear(4 * width, width);
  }

  override forward(x: Tensor, future: Tensor): Tensor {
    const attended = x.add(this.attend(this.norm1.forward(x), future));
    const wide = gelu(this.up.forward(this.norm2.forward(attended)));
    return attended.add(this.down.forward(wide));
  }

  protected attend(x: Tensor, future: Tensor): Tensor {
    const [n, length, width] = x.shape as [number, number, number];
    const size = width / this.heads;
    // [n, heads, length, size] each
    const parts = this.qkv.forward(x).reshape([n, length, 3, this.heads, size]);
    const [q, k, v] = parts.permute([2, 0, 3, 1, 4]).unbind(0) as [Tensor, Tensor, Tensor];
    // JavaScript computes the root.
    if (this.breaks) breakGraph();
    const scores = matmul(q, k.transpose(-1, -2)).mul(1 / Math.sqrt(size));
    const weights = softmax(scores.maskedFill(future, Number.NEGATIVE_INFINITY));
    const heads = matmul(weights, v).transpose(1, 2).reshape([n, length, width]);
    return this.projection.forward(heads);
  }
}

export class CharTransformer extends nn.Module {
  characters: nn.Embedding;
  positions: nn.Embedding;
  readonly blocks: readonly Block[];
  norm: nn.LayerNorm;
  last: nn.Linear;
  /** int32 [length]: 0, 1, 2, … */
  places: Tensor;
  /** bool [length, length]: true for future positions. */
  future: Tensor;

  constructor({ characters, length, width, heads, layers, breaks = false }: TransformerSize) {
    super();
    this.characters = new nn.Embedding(characters, width);
    this.positions = new nn.Embedding(length, width);
    this.blocks = Array.from({ length: layers }, () => new Block(width, heads, breaks));
    this.norm = new nn.LayerNorm(width);
    this.last = new nn.Linear(width, characters);
    const places = arange(0, length, 1, { dtype: 'int32' });
    this.places = nn.buffer(places, { persistent: false });
    const ahead = tidy(() => ones([length, length], { dtype: 'bool' }).triu(1));
    this.future = nn.buffer(ahead, { persistent: false });
    for (const table of [this.characters, this.positions]) {
      nn.init.normal_(table.weight, 0, 0.02);
    }
  }

  /** int32 [n, length] → scores [n, length, characters] */
  override forward(text: Tensor): Tensor {
    const places = this.places.narrow(0, 0, text.shape[1]!);
    let x = this.characters.forward(text).add(this.positions.forward(places));
    for (const block of this.blocks) x = block.forward(x, this.future);
    return this.last.forward(this.norm.forward(x));
  }
}

const sizes = {
  full: { length: 256, width: 384, heads: 6, layers: 6 },
  reduced: { length: 32, width: 32, heads: 2, layers: 2 },
} as const;

const batchOf = ({ batch, size }: WorkloadOptions) => batch ?? (size === 'full' ? 64 : 8);

/** Run by `tostatic compare`. */
export const workload = defineWorkload<CharTransformer>({
  model: ({ size, breaks }) =>
    new CharTransformer({ characters: loadText().alphabet.length, breaks, ...sizes[size] }),
  optimizer: (model) => new optim.AdamW(model.parameters(), { lr: 3e-3, weightDecay: 0.1 }),
  loss: (model, text, next) => crossEntropy(model.forward(text!).flatten(0, 1), next!.flatten()),
  inputs: (i, options) => textBatch(i, batchOf(options), sizes[options.size].length),
});
