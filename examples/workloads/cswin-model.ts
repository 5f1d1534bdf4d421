/**
 * CSWin transformer (Dong et al., 2021): attention within stripes of an image, vertical for half of the heads and
 * horizontal for the others, with a convolution of the values as positional encoding.
 */

import {
  breakGraph,
  cat,
  floor,
  matmul,
  nn,
  randLike,
  softmax,
  type Tensor,
} from '../../src/index.ts';
import { headsOf, type Stripe, sideOf, toHeads, toImages, toTokens } from './cswin-windows.ts';

export interface CSWinConfig {
  /** Side of the square images. */
  readonly image: number;
  readonly channels: number;
  readonly classes: number;
  /** Features of a token in the first stage; each later stage doubles them. */
  readonly embed: number;
  /** The blocks, stripe width and heads of each stage. */
  readonly depths: readonly number[];
  readonly stripes: readonly number[];
  readonly heads: readonly number[];
  readonly mlpRatio: number;
  /** The last block is skipped with this probability, and the first never; in between it increases evenly. */
  readonly dropPath: number;
  /** Whether to break the graph at arithmetic in JavaScript. */
  readonly breaks: boolean;
}

/** CSWin-base for images of 384 × 384: 77,382,184 parameters. */
export const base384: CSWinConfig = {
  image: 384,
  channels: 3,
  classes: 1000,
  embed: 96,
  depths: [2, 4, 32, 2],
  stripes: [1, 2, 12, 12],
  heads: [4, 8, 16, 32],
  mlpRatio: 4,
  dropPath: 0.5,
  breaks: false,
};

/** A smaller network for digits. */
export const reduced: CSWinConfig = {
  image: 32,
  channels: 1,
  classes: 10,
  embed: 24,
  depths: [1, 1, 2, 1],
  stripes: [1, 2, 2, 1],
  heads: [2, 2, 4, 4],
  mlpRatio: 4,
  dropPath: 0.1,
  breaks: false,
};

/** Drops a sample's whole branch with a probability, and scales the remaining ones up. */
class DropPath extends nn.Module {
  readonly p: number;
  readonly breaks: boolean;

  constructor(p: number, breaks: boolean) {
    super();
    this.p = p;
    this.breaks = breaks;
  }

  override forward(x: Tensor): Tensor {
    if (this.p === 0 || !this.training) return x;
    if (this.breaks) breakGraph();
    const keep = 1 - this.p;
    // [n, 1, 1]
    const drawn = randLike(x.narrow(1, 0, 1).narrow(2, 0, 1));
    return x.div(keep).mul(floor(drawn.add(keep)));
  }
}

/** Attention within the stripes of one direction, on half of the features. */
class StripeAttention extends nn.Module {
  readonly heads: number;
  readonly scale: number;
  readonly stripe: Stripe;
  readonly side: number;
  /** Positional encoding: a depthwise convolution. */
  lepe: nn.Conv2d;
  dropout = new nn.Dropout(0);

  constructor(features: number, heads: number, side: number, stripe: Stripe) {
    super();
    this.heads = heads;
    this.scale = (features / heads) ** -0.5;
    this.side = side;
    this.stripe = stripe;
    this.lepe = new nn.Conv2d(features, features, 3, { padding: 1, groups: features });
  }

  /** Operands and result: [n, tokens, features]. */
  override forward(query: Tensor, key: Tensor, value: Tensor): Tensor {
    const q = toHeads(query, this.stripe, this.heads);
    const k = toHeads(key, this.stripe, this.heads);
    const images = toImages(value, this.stripe);
    const positions = headsOf(this.lepe.forward(images), this.heads);
    const v = headsOf(images, this.heads);
    const weights = this.dropout.forward(softmax(matmul(q.mul(this.scale), k.transpose(-1, -2))));
    return toTokens(matmul(weights, v).add(positions), this.stripe, this.side);
  }
}

interface BlockSize {
  readonly features: number;
  readonly heads: number;
  readonly side: number;
  readonly stripe: number;
  readonly mlpRatio: number;
  readonly dropPath: number;
  readonly breaks: boolean;
}

class CSWinBlock extends nn.Module {
  norm1: nn.LayerNorm;
  qkv: nn.Linear;
  /** A single branch if a stripe is the whole image. */
  readonly branches: readonly StripeAttention[];
  projection: nn.Linear;
  dropPath: DropPath;
  norm2: nn.LayerNorm;
  up: nn.Linear;
  down: nn.Linear;
  dropout = new nn.Dropout(0);

  constructor({ features, heads, side, stripe, mlpRatio, dropPath, breaks }: BlockSize) {
    super();
    this.norm1 = new nn.LayerNorm(features);
    this.qkv = new nn.Linear(features, 3 * features);
    const shapes =
      stripe === side
        ? [[side, side]]
        : [
            [side, stripe],
            [stripe, side],
          ];
    this.branches = shapes.map(([height, width]) => {
      const own = { height: height!, width: width!, breaks };
      return new StripeAttention(features / shapes.length, heads / shapes.length, side, own);
    });
    this.projection = new nn.Linear(features, features);
    this.dropPath = new DropPath(dropPath, breaks);
    this.norm2 = new nn.LayerNorm(features);
    this.up = new nn.Linear(features, mlpRatio * features);
    this.down = new nn.Linear(mlpRatio * features, features);
  }

  override forward(x: Tensor): Tensor {
    const attended = x.add(this.dropPath.forward(this.attend(this.norm1.forward(x))));
    const wide = this.dropout.forward(this.up.forward(this.norm2.forward(attended)).gelu());
    const mixed = this.dropout.forward(this.down.forward(wide));
    return attended.add(this.dropPath.forward(mixed));
  }

  protected attend(x: Tensor): Tensor {
    const [q, k, v] = this.qkv.forward(x).chunk(3, -1) as [Tensor, Tensor, Tensor];
    const [only, other] = this.branches as [StripeAttention, StripeAttention?];
    if (!other) return this.projection.forward(only.forward(q, k, v));
    const [q1, q2] = q.chunk(2, -1) as [Tensor, Tensor];
    const [k1, k2] = k.chunk(2, -1) as [Tensor, Tensor];
    const [v1, v2] = v.chunk(2, -1) as [Tensor, Tensor];
    const both = cat([only.forward(q1, k1, v1), other.forward(q2, k2, v2)], -1);
    return this.projection.forward(both);
  }
}

/** Merges four tokens into one, with twice the features. */
class Merge extends nn.Module {
  conv: nn.Conv2d;
  norm: nn.LayerNorm;
  readonly breaks: boolean;

  constructor(features: number, breaks: boolean) {
    super();
    this.conv = new nn.Conv2d(features, 2 * features, 3, { stride: 2, padding: 1 });
    this.norm = new nn.LayerNorm(2 * features);
    this.breaks = breaks;
  }

  override forward(x: Tensor): Tensor {
    const [n, tokens, features] = x.shape as [number, number, number];
    const side = sideOf(tokens, this.breaks);
    const image = this.conv.forward(x.transpose(1, 2).reshape([n, features, side, side]));
    return this.norm.forward(image.reshape([n, 2 * features, -1]).transpose(1, 2));
  }
}

/** Images [n, channels, side, side] → scores [n, classes]. */
export class CSWinTransformer extends nn.Module {
  patch: nn.Conv2d;
  patchNorm: nn.LayerNorm;
  /** Blocks with merges between the stages, in order. */
  readonly parts: readonly (CSWinBlock | Merge)[];
  norm: nn.LayerNorm;
  head: nn.Linear;

  constructor(config: CSWinConfig) {
    super();
    const { embed, depths } = config;
    this.patch = new nn.Conv2d(config.channels, embed, 7, { stride: 4, padding: 2 });
    this.patchNorm = new nn.LayerNorm(embed);
    this.parts = depths.flatMap((_, stage) => stageOf(config, stage));
    const features = embed * 2 ** (depths.length - 1);
    this.norm = new nn.LayerNorm(features);
    this.head = new nn.Linear(features, config.classes);
    for (const module of this.modules()) {
      if (!(module instanceof nn.Linear)) continue;
      nn.init.truncNormal_(module.weight, 0, 0.02);
      if (module.bias) nn.init.zeros_(module.bias);
    }
  }

  override forward(images: Tensor): Tensor {
    let x = this.patchNorm.forward(this.patch.forward(images).flatten(2).transpose(1, 2));
    for (const part of this.parts) x = part.forward(x);
    return this.head.forward(this.norm.forward(x).mean(1));
  }
}

function stageOf(config: CSWinConfig, stage: number): (CSWinBlock | Merge)[] {
  const { depths, breaks, mlpRatio } = config;
  const total = depths.reduce((sum, depth) => sum + depth, 0);
  const before = depths.slice(0, stage).reduce((sum, depth) => sum + depth, 0);
  // The patch embedding divides the side by four, each merge by two.
  const side = Math.floor((config.image + 4 - 7) / 4 + 1) / 2 ** stage;
  const features = config.embed * 2 ** stage;
  const blocks = Array.from(
    { length: depths[stage]! },
    (_, i) =>
      new CSWinBlock({
        features,
        heads: config.heads[stage]!,
        side,
        stripe: config.stripes[stage]!,
        mlpRatio,
        dropPath: (config.dropPath * (before + i)) / Math.max(total - 1, 1),
        breaks,
      }),
  );
  return stage < depths.length - 1 ? [...blocks, new Merge(features, breaks)] : blocks;
}
