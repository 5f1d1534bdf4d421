/** GPT-2 and ViT, built from our modules with the names of Hugging Face's weights. */

import {
  add,
  gelu,
  nn,
  noGrad,
  scaledDotProductAttention,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from '../../runtime/index.ts';
import { cat } from '../../runtime/ops/movement/joining.ts';

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

function splitHeads(x: Tensor, heads: number): Tensor {
  const [batch, steps, width] = x.shape as [number, number, number];
  return x.reshape([batch, steps, heads, width / heads]).transpose(1, 2);
}

function joinHeads(x: Tensor): Tensor {
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

export interface ViTConfig {
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  readonly hidden: number;
  readonly image: number;
  readonly patch: number;
  readonly labels: number;
}

class SelfAttention extends nn.Module {
  readonly heads: number;
  readonly query: nn.Linear;
  readonly key: nn.Linear;
  readonly value: nn.Linear;
  readonly output: nn.Linear;

  constructor(width: number, heads: number) {
    super();
    this.heads = heads;
    this.query = new nn.Linear(width, width);
    this.key = new nn.Linear(width, width);
    this.value = new nn.Linear(width, width);
    this.output = new nn.Linear(width, width);
  }

  override forward(x: Tensor): Tensor {
    const [q, k, v] = [this.query, this.key, this.value].map((layer) =>
      splitHeads(layer.forward(x), this.heads),
    );
    return this.output.forward(joinHeads(scaledDotProductAttention(q!, k!, v!)));
  }
}

class ViTLayer extends nn.Module {
  readonly before: nn.LayerNorm;
  readonly attention: SelfAttention;
  readonly after: nn.LayerNorm;
  readonly intermediate: nn.Linear;
  readonly output: nn.Linear;

  constructor({ width, heads, hidden }: ViTConfig) {
    super();
    this.before = new nn.LayerNorm(width, { eps: 1e-12 });
    this.attention = new SelfAttention(width, heads);
    this.after = new nn.LayerNorm(width, { eps: 1e-12 });
    this.intermediate = new nn.Linear(width, hidden);
    this.output = new nn.Linear(hidden, width);
  }

  override forward(x: Tensor): Tensor {
    const attended = add(x, this.attention.forward(this.before.forward(x)));
    const hidden = gelu(this.intermediate.forward(this.after.forward(attended)));
    return add(attended, this.output.forward(hidden));
  }
}

/** Images [batch, 3, size, size] → logits [batch, labels]. */
export class ViT extends nn.Module {
  readonly cls: nn.Parameter;
  readonly positions: nn.Parameter;
  readonly patches: nn.Conv2d;
  readonly layers: readonly ViTLayer[];
  readonly norm: nn.LayerNorm;
  readonly classifier: nn.Linear;

  constructor(config: ViTConfig) {
    super();
    const { width, image, patch } = config;
    this.cls = nn.parameter(zeros([1, 1, width]));
    this.positions = nn.parameter(zeros([1, (image / patch) ** 2 + 1, width]));
    this.patches = new nn.Conv2d(3, width, patch, { stride: patch });
    this.layers = Array.from({ length: config.layers }, () => new ViTLayer(config));
    this.norm = new nn.LayerNorm(width, { eps: 1e-12 });
    this.classifier = new nn.Linear(width, config.labels);
  }

  override forward(images: Tensor): Tensor {
    const features = this.patches.forward(images);
    const [batch, width] = features.shape as [number, number];
    const rows = features.reshape([batch, width, -1]).transpose(1, 2);
    let x = add(cat([this.cls.expand([batch, 1, width]), rows], 1), this.positions);
    for (const layer of this.layers) x = layer.forward(x);
    return this.classifier.forward(this.norm.forward(x).narrow(1, 0, 1).reshape([batch, width]));
  }
}

/** The name of Hugging Face's ViT for one of ours. */
export function vitName(name: string): string {
  if (name.startsWith('classifier')) return name;
  const inside = name
    .replace(/^cls$/, 'embeddings.cls_token')
    .replace(/^positions$/, 'embeddings.position_embeddings')
    .replace(/^patches/, 'embeddings.patch_embeddings.projection')
    .replace(/^norm/, 'layernorm')
    .replace(/^layers\.(\d+)\.before/, 'layers.$1.layernorm_before')
    .replace(/^layers\.(\d+)\.after/, 'layers.$1.layernorm_after')
    .replace(/^layers/, 'encoder.layer')
    .replace(/attention\.(query|key|value)/, 'attention.attention.$1')
    .replace(/attention\.output/, 'attention.output.dense')
    .replace(/(layer\.\d+\.intermediate|layer\.\d+\.output)(?=\.(?:weight|bias))/, '$1.dense');
  return `vit.${inside}`;
}

/** Logits of a model, freed but for the numbers. */
export async function logitsOf(model: nn.Module, input: Tensor): Promise<Float32Array> {
  const forward = model.forward as (input: Tensor) => Tensor;
  const output = noGrad(() => tidy(() => forward.call(model, input)));
  const values = (await output.data()) as Float32Array;
  output.dispose();
  return values;
}
