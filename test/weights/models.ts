/** ViT, built from our modules with the names of Hugging Face's weights. */

import { joinHeads, splitHeads } from '../../examples/gpt2-model.ts';
import {
  add,
  gelu,
  nn,
  noGrad,
  scaledDotProductAttention,
  type Tensor,
  tidy,
  zeros,
} from '../../runtime/index.ts';
import { cat } from '../../runtime/ops/movement/joining.ts';

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
