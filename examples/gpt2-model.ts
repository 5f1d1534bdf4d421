/** GPT-2, built from this library's modules, with the names of Hugging Face's weights. */

import {
  add,
  gelu,
  nn,
  scaledDotProductAttention,
  type Tensor,
  tensor,
  zeros,
} from '../src/index.ts';

export interface GPT2Config {
  readonly vocabulary: number;
  readonly positions: number;
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
}

/** GPT-2's linear layer: weight [in, out]. */
class Conv1D extends nn.Module {
  weight: nn.Parameter;
  bias: nn.Parameter;

  constructor(inFeatures: number, outFeatures: number) {
    super();
    this.weight = nn.parameter(zeros([inFeatures, outFeatures]));
    this.bias = nn.parameter(zeros([outFeatures]));
  }

  override forward(x: Tensor): Tensor {
    return add(x.matmul(this.weight), this.bias);
  }
}

/** [batch, steps, width] → [batch, heads, steps, width / heads]. */
export function splitHeads(x: Tensor, heads: number): Tensor {
  const [batch, steps, width] = x.shape as [number, number, number];
  return x.reshape([batch, steps, heads, width / heads]).transpose(1, 2);
}

/** [batch, heads, steps, size] → [batch, steps, heads · size]. */
export function joinHeads(x: Tensor): Tensor {
  const [batch, heads, steps, size] = x.shape as [number, number, number, number];
  return x.transpose(1, 2).reshape([batch, steps, heads * size]);
}

class CausalAttention extends nn.Module {
  readonly heads: number;
  readonly c_attn: Conv1D;
  readonly c_proj: Conv1D;

  constructor(width: number, heads: number) {
    super();
    this.heads = heads;
    this.c_attn = new Conv1D(width, 3 * width);
    this.c_proj = new Conv1D(width, width);
  }

  override forward(x: Tensor): Tensor {
    const width = x.shape.at(-1)!;
    const all = this.c_attn.forward(x);
    const [q, k, v] = [0, 1, 2].map((i) =>
      splitHeads(all.narrow(-1, i * width, width), this.heads),
    );
    return this.c_proj.forward(
      joinHeads(scaledDotProductAttention(q!, k!, v!, { isCausal: true })),
    );
  }
}

class GPT2Mlp extends nn.Module {
  readonly c_fc: Conv1D;
  readonly c_proj: Conv1D;

  constructor(width: number) {
    super();
    this.c_fc = new Conv1D(width, 4 * width);
    this.c_proj = new Conv1D(4 * width, width);
  }

  override forward(x: Tensor): Tensor {
    return this.c_proj.forward(gelu(this.c_fc.forward(x), 'tanh'));
  }
}

class GPT2Block extends nn.Module {
  readonly ln_1: nn.LayerNorm;
  readonly attn: CausalAttention;
  readonly ln_2: nn.LayerNorm;
  readonly mlp: GPT2Mlp;

  constructor({ width, heads }: GPT2Config) {
    super();
    this.ln_1 = new nn.LayerNorm(width);
    this.attn = new CausalAttention(width, heads);
    this.ln_2 = new nn.LayerNorm(width);
    this.mlp = new GPT2Mlp(width);
  }

  override forward(x: Tensor): Tensor {
    const attended = add(x, this.attn.forward(this.ln_1.forward(x)));
    return add(attended, this.mlp.forward(this.ln_2.forward(attended)));
  }
}

/** Ids [batch, steps] → logits [batch, steps, vocabulary]; the head shares the embedding's weight. */
export class GPT2 extends nn.Module {
  readonly wte: nn.Embedding;
  readonly wpe: nn.Embedding;
  readonly h: readonly GPT2Block[];
  readonly ln_f: nn.LayerNorm;
  readonly lm_head: nn.Linear;

  constructor(config: GPT2Config) {
    super();
    this.wte = new nn.Embedding(config.vocabulary, config.width);
    this.wpe = new nn.Embedding(config.positions, config.width);
    this.h = Array.from({ length: config.layers }, () => new GPT2Block(config));
    this.ln_f = new nn.LayerNorm(config.width);
    this.lm_head = new nn.Linear(config.width, config.vocabulary, { bias: false });
    this.lm_head.weight.dispose();
    this.lm_head.weight = this.wte.weight;
  }

  override forward(ids: Tensor): Tensor {
    const steps = ids.shape[1]!;
    const positions = tensor(Int32Array.from({ length: steps }, (_, i) => i));
    let x = add(this.wte.forward(ids), this.wpe.forward(positions));
    for (const block of this.h) x = block.forward(x);
    return this.lm_head.forward(this.ln_f.forward(x));
  }
}

/** Returns Hugging Face's name for a parameter of the module. */
export const gpt2Name = (name: string): string =>
  name === 'lm_head.weight' ? name : `transformer.${name}`;
