import {
  gelu,
  matmul,
  nn,
  noGrad,
  softmax,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from '../../src/index.ts';
import type { Work } from './work.ts';

export interface DecoderSizes {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly vocabulary: number;
  readonly tokens: number;
}

/** One layer with the keys and values of all tokens so far, [heads, tokens, head features]. */
class Layer extends nn.Module {
  readonly first: nn.LayerNorm;
  readonly second: nn.LayerNorm;
  readonly project: nn.Linear;
  readonly join: nn.Linear;
  readonly widen: nn.Linear;
  readonly narrow: nn.Linear;
  readonly keys: Tensor;
  readonly values: Tensor;
  readonly sizes: DecoderSizes;

  constructor(sizes: DecoderSizes) {
    super();
    const { width, heads, tokens } = sizes;
    this.sizes = sizes;
    this.first = new nn.LayerNorm(width);
    this.second = new nn.LayerNorm(width);
    this.project = new nn.Linear(width, 3 * width);
    this.join = new nn.Linear(width, width);
    this.widen = new nn.Linear(width, 4 * width);
    this.narrow = new nn.Linear(4 * width, width);
    this.keys = zeros([heads, tokens, width / heads]);
    this.values = zeros([heads, tokens, width / heads]);
  }

  /** x [1, width]; later [1, 1, tokens]: 0 for earlier keys, −∞ for keys of later tokens. */
  override forward(x: Tensor, at: number, later: Tensor): Tensor {
    const { width, heads } = this.sizes;
    const all = this.project.forward(this.first.forward(x));
    const part = (i: number) => all.narrow(-1, i * width, width).reshape([heads, 1, width / heads]);
    this.keys.narrow(1, at, 1).copy_(part(1));
    this.values.narrow(1, at, 1).copy_(part(2));
    const scores = matmul(part(0), this.keys.transpose(1, 2)).div(Math.sqrt(width / heads));
    const mixed = matmul(softmax(scores.add(later)), this.values);
    const y = x.add(this.join.forward(mixed.reshape([1, width])));
    const hidden = gelu(this.widen.forward(this.second.forward(y)), 'tanh');
    return y.add(this.narrow.forward(hidden));
  }
}

/** Greedy decoding with a cache: a step is one token. */
export function decoding(sizes: DecoderSizes): Work {
  const embedding = new nn.Embedding(sizes.vocabulary, sizes.width);
  const layers = Array.from({ length: sizes.layers }, () => new Layer(sizes));
  const head = new nn.Linear(sizes.width, sizes.vocabulary);
  const later = Array.from({ length: sizes.tokens }, (_, at) =>
    Array.from({ length: sizes.tokens }, (_, key) => (key > at ? Number.NEGATIVE_INFINITY : 0)),
  );
  const masks = tensor(later);
  const token = tensor(Int32Array.of(1));
  let at = 0;
  const step = (): undefined => {
    noGrad(() => {
      let x = embedding.forward(token);
      const mask = masks.narrow(0, at, 1).reshape([1, 1, sizes.tokens]);
      for (const layer of layers) x = layer.forward(x, at, mask);
      token.copy_(head.forward(x).argmax(-1));
    });
    at = (at + 1) % sizes.tokens;
  };
  const checksum = (): number =>
    tidy(() => layers.reduce((sum, { values }) => sum + (values.sum().itemSync() as number), 0));
  return { step, checksum };
}
